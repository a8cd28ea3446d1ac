"""Hub: publishes committed events to the readers of their session.

The recorder publishes after each commit, also to the bus; the bus brings what other gateways have committed. SSE,
WebSocket and AG-UI read subscriptions. A subscription is a
cursor over the log with a small live window: a reader that falls behind loses the window, not an event, and is
served from the store at its own pace until it has caught up.
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Literal, TypeAlias

from agio.bus.bus import Bus
from agio.bus.memory import MemoryBus
from agio.core.config import ServerLimits
from agio.core.store.records import EventSlice
from agio.core.store.store import Store
from agio.errors import StoreError
from agio.gateway.stream.event_slice import EncodedSlice

End: TypeAlias = Literal["left", "deleted", "closing"]
"""Why a subscription ended: its reader left, its session was deleted, the server stops."""

_PATIENCE_S = 15.0
"""How long a reader waits for a store that cannot be reached. Each attempt takes most of a second."""
BATCH_BYTES = 64 * 1024
"""About how much a reader gets, and is read from the store, at once: the cost of a stalled reader."""


class Hub:
    """Fan-out by session. Publishing never waits for a reader."""

    def __init__(self, store: Store, limits: ServerLimits, bus: Bus | None = None) -> None:
        self.store = store
        self.limits = limits
        self.open_streams = 0
        self.closing = asyncio.Event()
        self._bus = bus or MemoryBus()
        self._readers: dict[str, set[Subscription]] = {}

    def publish(self, session_id: str, events: EventSlice) -> None:
        """Give events that were committed here to the readers of their session, also those of other gateways."""
        self._bus.publish(session_id, events)
        self.hear(session_id, events)

    def hear(self, session_id: str, events: EventSlice) -> None:
        """Give committed events to the readers of their session. Each reader drops positions it has."""
        if readers := self._readers.get(session_id):
            encoded = EncodedSlice(session_id, events)
            for reader in readers:
                reader.push(encoded)

    def subscribe(self, session_id: str, after: int, *, from_now: bool = False) -> "Subscription":
        """Read after a position. The caller has checked that the session is its own.

        `from_now` saves a read of the store: the caller wants only what is published from now on, and knows no
        later position than `after`.
        """
        reader = Subscription(self, session_id, after, from_now=from_now)
        readers = self._readers.get(session_id)
        if readers is None:
            readers = self._readers[session_id] = set()
            self._bus.watch(session_id)
        readers.add(reader)
        self.open_streams += 1
        if self.closing.is_set():
            reader.end("closing")
        return reader

    @property
    def watched(self) -> list[str]:
        """The sessions that have readers."""
        return list(self._readers)

    def catch_up(self, session_id: str | None = None) -> None:
        """Let the readers of a session look at the store: something may have been lost. None: of all sessions."""
        found = self._readers.values() if session_id is None else (self._readers.get(session_id, ()),)
        for readers in found:
            for reader in readers:
                reader.lose_window()

    def compare(self, asked: Sequence[str], heads: Mapping[str, int]) -> None:
        """Let the readers that are behind their session's head look at the store; end those of deleted sessions."""
        for session_id in asked:
            head = heads.get(session_id)
            if head is None:
                self.forget(session_id)
                continue
            for reader in self._readers.get(session_id, ()):
                if reader.is_behind(head):
                    reader.lose_window()

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
                self._bus.unwatch(reader.session_id)


class Subscription:
    """A reader's cursor. Leave it with `async with`, or with `close`."""

    def __init__(self, hub: Hub, session_id: str, after: int, *, from_now: bool) -> None:
        self.session_id = session_id
        self.ended: End | None = None
        self._hub = hub
        self._after = after
        self._stored: deque[EncodedSlice] = deque()
        """Slices read from the store: they come before the window."""
        self._window: deque[EncodedSlice] = deque()
        self._events = 0
        self._bytes = 0
        self._edge: int | None = after
        """The last position before the window's next slice; None: any slice may come next."""
        self._lost = not from_now
        """Whether there is no window: what comes next is read from the store."""
        self._nudged = False
        self._waiter: asyncio.Future[None] | None = None

    async def __aenter__(self) -> "Subscription":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave, and wake a waiting `take`."""
        self._hub.drop(self)
        self.end("left")

    def end(self, why: End) -> None:
        """End the subscription; the first reason counts."""
        self.ended = self.ended or why
        self._stored.clear()
        self._window.clear()
        self._wake()

    def nudge(self) -> None:
        """Let a waiting `take` return with nothing, so that its reader can send a keep-alive."""
        self._nudged = True
        self._wake()

    def push(self, encoded: EncodedSlice) -> None:
        """Add a published slice to the window; after a gap, the window is lost."""
        if self._lost or self.ended:
            return
        edge = self._edge
        if edge is not None:
            if encoded.last_pos <= edge:
                return
            if encoded.first_pos <= edge:
                encoded = encoded.after(edge)
            elif encoded.first_pos > edge + 1:
                self._lose()
                self._wake()
                return
        self._window.append(encoded)
        self._edge = encoded.last_pos
        self._events += encoded.events.count
        self._bytes += len(encoded.events.payload)
        limits = self._hub.limits
        # One slice of many events may stay; one of too many bytes is read from the store, in parts.
        if self._bytes > limits.reader_window_bytes or (
            len(self._window) > 1 and self._events > limits.reader_window_events
        ):
            self._lose()
        self._wake()

    def lose_window(self) -> None:
        """Read on from the store: something may not have been published here."""
        if not self.ended:
            self._lose()
            self._wake()

    def is_behind(self, head: int) -> bool:
        """Whether a stored position lies past what this reader has got or has in its window."""
        return not self._lost and not self._stored and self._edge is not None and self._edge < head

    async def next(self) -> EncodedSlice | None:
        """Return the next consecutive events; None when the subscription has ended. Raises StoreError."""
        while self.ended is None:
            if slices := await self.take(limit_bytes=1):
                return slices[0]
        return None

    async def take(self, limit_bytes: int = BATCH_BYTES) -> list[EncodedSlice]:
        """Return what comes next, as much as there is: at least one slice, and then up to about a limit.

        Nothing is returned when the subscription has `ended`, or was nudged. Raises StoreError.
        """
        while self.ended is None:
            if self._stored or self._window:
                return self._pop(limit_bytes)
            if self._lost:
                await self._read_patiently()
            elif self._nudged:
                self._nudged = False
                break
            else:
                await self._wait()
        return []

    def _pop(self, limit_bytes: int) -> list[EncodedSlice]:
        slices: list[EncodedSlice] = []
        size = 0
        while size < limit_bytes and self._stored:
            slices.append(self._stored.popleft())
            size += len(slices[-1].events.payload)
        while size < limit_bytes and self._window:
            slices.append(self._pop_window())
            size += len(slices[-1].events.payload)
        self._after = slices[-1].last_pos
        return slices

    def _pop_window(self) -> EncodedSlice:
        encoded = self._window.popleft()
        self._events -= encoded.events.count
        self._bytes -= len(encoded.events.payload)
        return encoded

    async def _read_patiently(self) -> None:
        """Read from the store; one that restarts interrupts no stream. Raises StoreError."""
        give_up_at = asyncio.get_running_loop().time() + _PATIENCE_S
        while True:
            try:
                await self._read()
            except StoreError as error:
                if error.code != "store_unavailable" or asyncio.get_running_loop().time() > give_up_at:
                    raise
                if self.ended:
                    return
            else:
                return

    async def _read(self) -> None:
        """Read the next slices from the store, and go live if the window follows on."""
        self._lost, self._edge = False, None
        try:
            stored = await self._hub.store.read_session(self.session_id, self._after, BATCH_BYTES)
        except BaseException:
            self._lose()
            raise
        if self.ended:
            return
        self._stored.extend(EncodedSlice(self.session_id, events) for events in stored)
        reached = stored[-1].last_pos if stored else self._after
        while self._window and self._window[0].last_pos <= reached:
            self._pop_window()
        if self._window and self._window[0].first_pos <= reached:
            late = self._pop_window().after(reached)
            self._window.appendleft(late)
            self._events += late.events.count
            self._bytes += len(late.events.payload)
        if self._lost or (self._window and self._window[0].first_pos == reached + 1):
            return
        self._lose()
        if not stored:
            # The store has no more: the next published slice follows, or shows a gap.
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
