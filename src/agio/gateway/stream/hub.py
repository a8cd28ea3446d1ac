"""Hub: committed events go out to the readers of their session.

The recorder publishes after each commit; SSE, WebSocket and AG-UI read subscriptions. A subscription is a
cursor over the log with a small live window: a reader that falls behind loses the window, not an event, and is
served from the store at its own pace until it has caught up.
"""

import asyncio
from collections import deque
from types import TracebackType
from typing import Literal, TypeAlias

from agio.core.config import ServerLimits
from agio.core.store.records import EventSlice
from agio.core.store.store import Store
from agio.gateway.stream.event_slice import OutgoingSlice

End: TypeAlias = Literal["left", "deleted", "closing"]
"""Why a subscription ended: its reader left, its session was deleted, the server stops."""

BATCH_BYTES = 64 * 1024
"""About how much a reader is given, and the store is asked for, at once: what a stalled reader costs."""


class Hub:
    """Fan-out by session. Publishing never waits for a reader."""

    def __init__(self, store: Store, limits: ServerLimits) -> None:
        self.store = store
        self.limits = limits
        self.open_streams = 0
        self.closing = asyncio.Event()
        self._readers: dict[str, set[Subscription]] = {}

    def publish(self, session_id: str, chunk: EventSlice) -> None:
        """Hand committed events to the readers of their session. Each reader drops positions it has."""
        if readers := self._readers.get(session_id):
            piece = OutgoingSlice(session_id, chunk)
            for reader in readers:
                reader.push(piece)

    def subscribe(self, session_id: str, after: int, *, from_now: bool = False) -> "Subscription":
        """Begin to read after a position; whoever asks has checked that the session is its own.

        `from_now` spares a look at the store: its caller wants only what is published from now on, and knows no
        later position than `after`.
        """
        reader = Subscription(self, session_id, after, from_now=from_now)
        self._readers.setdefault(session_id, set()).add(reader)
        self.open_streams += 1
        if self.closing.is_set():
            reader.end("closing")
        return reader

    def forget(self, session_id: str) -> None:
        """End the readers of a session that was deleted."""
        for reader in list(self._readers.get(session_id, ())):
            reader.end("deleted")

    def close(self) -> None:
        """End all readers: the server stops."""
        self.closing.set()
        for readers in self._readers.values():
            for reader in readers:
                reader.end("closing")

    def drop(self, reader: "Subscription") -> None:
        """Forget a reader that has left."""
        readers = self._readers.get(reader.session_id)
        if readers and reader in readers:
            readers.remove(reader)
            self.open_streams -= 1
            if not readers:
                del self._readers[reader.session_id]


class Subscription:
    """A reader's cursor. Leave it with `async with`, or with `close`."""

    def __init__(self, hub: Hub, session_id: str, after: int, *, from_now: bool) -> None:
        self.session_id = session_id
        self.ended: End | None = None
        self._hub = hub
        self._after = after
        self._stored: deque[OutgoingSlice] = deque()
        """What the store said comes next: goes before the window."""
        self._window: deque[OutgoingSlice] = deque()
        self._events = 0
        self._bytes = 0
        self._edge: int | None = after
        """The last position before the window's next piece; None: any piece may come next."""
        self._lost = not from_now
        """Whether the window is gone, or never was: the store knows what comes next."""
        self._nudged = False
        self._waiter: asyncio.Future[None] | None = None

    async def __aenter__(self) -> "Subscription":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave. Whoever waits for the next piece is told."""
        self._hub.drop(self)
        self.end("left")

    def end(self, why: End) -> None:
        """Give the reader nothing more; the first reason counts."""
        self.ended = self.ended or why
        self._stored.clear()
        self._window.clear()
        self._wake()

    def nudge(self) -> None:
        """Let a waiting `take` return with nothing, so that its reader can show that it is alive."""
        self._nudged = True
        self._wake()

    def push(self, piece: OutgoingSlice) -> None:
        """Take what was published: into the window if it comes next, else the window is lost."""
        if self._lost or self.ended:
            return
        edge = self._edge
        if edge is not None:
            if piece.last_pos <= edge:
                return
            if piece.first_pos <= edge:
                piece = piece.after(edge)
            elif piece.first_pos > edge + 1:
                self._lose()
                self._wake()
                return
        self._window.append(piece)
        self._edge = piece.last_pos
        self._events += piece.chunk.count
        self._bytes += len(piece.chunk.payload)
        limits = self._hub.limits
        # One piece of many events may stay; one of too many bytes is read from the store, in parts.
        if self._bytes > limits.reader_window_bytes or (
            len(self._window) > 1 and self._events > limits.reader_window_events
        ):
            self._lose()
        self._wake()

    async def next(self) -> OutgoingSlice | None:
        """Return the next consecutive events; None when the subscription has ended. Raises StoreError."""
        while self.ended is None:
            if pieces := await self.take(limit_bytes=1):
                return pieces[0]
        return None

    async def take(self, limit_bytes: int = BATCH_BYTES) -> list[OutgoingSlice]:
        """Return what comes next, as much as is there: at least one piece, and then up to about a limit.

        Nothing is returned when the subscription has `ended`, or was nudged. Raises StoreError.
        """
        while self.ended is None:
            if self._stored or self._window:
                return self._pop(limit_bytes)
            if self._lost:
                await self._read()
            elif self._nudged:
                self._nudged = False
                break
            else:
                await self._wait()
        return []

    def _pop(self, limit_bytes: int) -> list[OutgoingSlice]:
        pieces: list[OutgoingSlice] = []
        size = 0
        while size < limit_bytes and self._stored:
            pieces.append(self._stored.popleft())
            size += len(pieces[-1].chunk.payload)
        while size < limit_bytes and self._window:
            pieces.append(self._pop_window())
            size += len(pieces[-1].chunk.payload)
        self._after = pieces[-1].last_pos
        return pieces

    def _pop_window(self) -> OutgoingSlice:
        piece = self._window.popleft()
        self._events -= piece.chunk.count
        self._bytes -= len(piece.chunk.payload)
        return piece

    async def _read(self) -> None:
        """Ask the store what comes next, and go live if what was published meanwhile follows on."""
        self._lost, self._edge = False, None
        try:
            chunks = await self._hub.store.read_session(self.session_id, self._after, BATCH_BYTES)
        except BaseException:
            self._lose()
            raise
        if self.ended:
            return
        self._stored.extend(OutgoingSlice(self.session_id, chunk) for chunk in chunks)
        reached = chunks[-1].last_pos if chunks else self._after
        while self._window and self._window[0].last_pos <= reached:
            self._pop_window()
        if self._window and self._window[0].first_pos <= reached:
            late = self._pop_window().after(reached)
            self._window.appendleft(late)
            self._events += late.chunk.count
            self._bytes += len(late.chunk.payload)
        if self._lost or (self._window and self._window[0].first_pos == reached + 1):
            return
        self._lose()
        if not chunks:
            # The store has no more: the next that is published comes next, or shows that something is missing.
            self._lost, self._edge = False, reached

    def _lose(self) -> None:
        self._window.clear()
        self._events = self._bytes = 0
        self._lost = True

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
