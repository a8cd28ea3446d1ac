"""The SSE stream of a session: `GET /api/agent-sessions/{id}/stream`, plain ASGI.

A frame's id is the event's position; its data is the log's line.
"""

from contextlib import ExitStack
from urllib.parse import parse_qsl

from agio.core.identity.principal import Principal
from agio.core.store.records import SessionRecord
from agio.core.store.store import Store
from agio.errors import UserError
from agio.gateway.gateway import Gateway
from agio.gateway.http.asgi import Application, Receive, Scope, Send
from agio.gateway.http.errors import send_error, wrapped
from agio.gateway.http.route import check_permission
from agio.gateway.stream.connections import Cut
from agio.gateway.stream.sse import EventStream

_CURSOR_DIGITS = 15


class SessionStream:
    """The ASGI application behind `GET /api/agent-sessions/{id}/stream`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream a session's events after a cursor, or from the newest run's start, until the reader disconnects."""
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
                    while slices := await stream.take():
                        await stream.write(
                            slices[0].sse if len(slices) == 1 else b"".join(encoded.sse for encoded in slices)
                        )
                    await stream.finish()
            except Cut:
                await stream.break_off()
            finally:
                stream.release()


def session_stream(gateway: Gateway) -> Application:
    """Make the ASGI application for `GET /api/agent-sessions/{id}/stream`."""
    return SessionStream(gateway)


def owner_of(scope: Scope) -> str:
    """Return the id of a path that ends with `/{id}/name`."""
    path: str = scope["path"]
    return path.rstrip("/").rsplit("/", 2)[-2]


def cursor_of(scope: Scope) -> int | None:
    """Return the last position the reader saw: `Last-Event-ID`, else `?after=`. Raises UserError `invalid_cursor`."""
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
    """Return the position to read after: the cursor, else the start of the newest run.

    Raises UserError `invalid_cursor` for a cursor beyond the session's last event: no reader can have seen it.
    """
    if cursor is None:
        if session.last_run_id is None:
            return 0
        return (await store.find_run(who.tenant, who.user, session.last_run_id)).first_pos
    if cursor > session.last_pos:
        raise UserError(
            "invalid_cursor",
            f"The session's last event is {session.last_pos}, so there is no event {cursor}.",
            {"last_pos": session.last_pos},
        )
    return cursor
