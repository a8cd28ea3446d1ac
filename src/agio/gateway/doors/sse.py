"""Server-sent events: the stream of a session, and the response that carries any such stream.

`GET /api/agent-sessions/{id}/stream` is plain ASGI. A frame's id is the event's position, its data the log's line.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from agio.core.identity.principal import Principal
from agio.core.store.records import SessionRecord
from agio.core.store.store import Store
from agio.errors import StoreError, UserError
from agio.gateway.gateway import Gateway
from agio.gateway.http.errors import send_error, wrapped
from agio.gateway.http.route import check_permission
from agio.gateway.stream.connections import Cut
from agio.gateway.stream.event_slice import Piece
from agio.gateway.stream.hub import Subscription

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_log = logging.getLogger("agio.gateway")

_KEEP_ALIVE = b": keep-alive\n\n"
_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_CURSOR_DIGITS = 15
_GOODBYE_S = 1.0


class EventStream:
    """A response of server-sent events, fed by a subscription. Its reader may leave at any time."""

    def __init__(self, events: Subscription, receive: Receive, send: Send, keep_alive_s: float) -> None:
        self.left = False
        """Whether the reader has gone."""
        self._events = events
        self._receive = receive
        self._send = send
        self._keep_alive_s = keep_alive_s
        self._loop = asyncio.get_running_loop()

    async def start(self, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        """Answer that a stream follows, and begin to watch for the reader to leave."""
        await self._send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS, *headers]})
        self._wrote_at = self._loop.time()
        self._watching = self._loop.create_task(self._watch())
        self._timer = self._loop.call_later(self._keep_alive_s, self._tick)

    async def take(self) -> list[Piece]:
        """Return what comes next, nothing at the end. While nothing comes, comments keep the connection open."""
        try:
            while not (pieces := await self._events.take()) and self._events.ended is None:
                await self.write(_KEEP_ALIVE)
        except StoreError as error:
            _log.warning("A stream ends early, its reader can go on later: %s", error)
            return []
        return pieces

    async def write(self, frames: bytes) -> None:
        """Send frames. A slow reader makes this wait."""
        try:
            await self._send({"type": "http.response.body", "body": frames, "more_body": True})
        except OSError:
            self._leave()
        self._wrote_at = self._loop.time()

    async def finish(self) -> None:
        """End the response. One that is cancelled is not finished: its reader may never read on."""
        if not self.left:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def break_off(self) -> None:
        """End the response of a reader that may read no more. Who comes again is refused at the door."""
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(_GOODBYE_S):
                await self.finish()

    def release(self) -> None:
        """Watch no longer."""
        self._timer.cancel()
        self._watching.cancel()
        del self._watching  # a cancelled task keeps its frames, which have us: nobody would be freed at once

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._leave()

    def _leave(self) -> None:
        self.left = True
        self._events.end("left")

    def _tick(self) -> None:
        """Nudge a stream that was silent. Armed again for the rest of the time, not at every event."""
        due_s = self._wrote_at + self._keep_alive_s - self._loop.time()
        if due_s <= 0:
            self._events.nudge()
            due_s = self._keep_alive_s
        self._timer = self._loop.call_later(due_s, self._tick)


class SessionStream:
    """The ASGI application behind `GET /api/agent-sessions/{id}/stream`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream a session's events after a cursor, or from the newest run's start, for as long as the reader stays."""
        gateway = self._gateway
        with ExitStack() as held:
            try:
                who = await gateway.auth.admit(scope)
                check_permission(who, "use")
                held.enter_context(gateway.connections.room(who))
                session = await gateway.store.get_session(who.tenant, who.user, owner_of(scope))
                after = await position(gateway.store, who, session, cursor_of(scope))
            except Exception as error:
                await send_error(send, wrapped(error))
                return
            await self._stream(who, session.id, after, receive, send)

    async def _stream(
        self, who: Principal, session_id: str, after: int, receive: Receive, send: Send
    ) -> None:
        gateway = self._gateway
        async with gateway.hub.subscribe(session_id, after) as events:
            stream = EventStream(events, receive, send, gateway.limits.keep_alive_s)
            await stream.start()
            try:
                async with gateway.connections.open(who):
                    while pieces := await stream.take():
                        await stream.write(
                            pieces[0].sse if len(pieces) == 1 else b"".join(piece.sse for piece in pieces)
                        )
                    await stream.finish()
            except Cut:
                await stream.break_off()
            finally:
                stream.release()


def session_stream(gateway: Gateway) -> App:
    """Make the application of `GET /api/agent-sessions/{id}/stream`."""
    return SessionStream(gateway)


def owner_of(scope: Scope) -> str:
    """Return the id in a path that ends with `/{id}/what`."""
    path: str = scope["path"]
    return path.rstrip("/").rsplit("/", 2)[-2]


def cursor_of(scope: Scope) -> int | None:
    """Return the position a reader saw last: `Last-Event-ID`, else `?after=`. Raises UserError `invalid_cursor`."""
    header = next((value for name, value in scope["headers"] if name == b"last-event-id"), b"")
    text = header.decode("latin-1").strip()
    if not text:
        text = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("after", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > _CURSOR_DIGITS:
        raise UserError("invalid_cursor", "Last-Event-ID and `after` are positions: whole numbers from 0.")
    return int(text)


async def position(store: Store, who: Principal, session: SessionRecord, cursor: int | None) -> int:
    """Return after which position to read: the cursor, else where the newest run starts.

    Raises UserError `invalid_cursor` for a cursor beyond the session's last event: no reader can have seen it.
    """
    if cursor is None:
        if session.last_run_id is None:
            return 0
        return (await store.find_run(who.tenant, who.user, session.last_run_id)).first_pos
    if cursor > session.last_pos:
        raise UserError(
            "invalid_cursor",
            f"The session's last event is {session.last_pos}: nobody has seen {cursor}.",
            {"last_pos": session.last_pos},
        )
    return cursor
