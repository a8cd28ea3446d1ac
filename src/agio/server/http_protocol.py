"""uvicorn's HTTP with bounds: how many connections there may be, how long the head of a request may be, and how long
it may take to come.

Whatever cannot be read as HTTP is answered in our shape, and the connection closed.
"""

import asyncio
from typing import cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from agio.errors import UserError
from agio.gateway.http.errors import error_body, status_of
from agio.gateway.http.in_flight import IN_FLIGHT, Held
from agio.server.edge import EdgeConfig
from agio.server.unsent import UnsentBytes

HEAD_BYTES = 64 * 1024
"""The request line and all headers together."""
HEAD_S = 15.0
"""From the connection, or the first byte of the next request, to the end of the headers."""
REST_S = 15.0
"""How long the rest of a body may come that was answered before it was read."""


class _Refused(Exception):
    """The head of a request was refused: the parser need not go on."""


class BoundedHttp(UnsentBytes, HttpToolsProtocol):
    """One connection."""

    _in_head = True
    _head_begun = False
    """Whether some of a head came, and nobody minds yet how long the rest takes."""
    _unfinished_bytes = 0
    """What came since the last head, or bytes of a body: an unfinished head, chunk size or trailer."""
    _timer: asyncio.TimerHandle | None = None
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Begin to wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        self._unanswered: list[RequestResponseCycle] = []
        if len(self.connections) > cast("EdgeConfig", self.config).max_connections:
            self._refuse(_too_many())
            return
        self._wait(HEAD_S)

    def held(self) -> Held | None:
        """Return the count of the oldest request that the connection has not answered, or else of the last one."""
        scopes = (cast("dict[str, Held]", cycle.scope) for cycle in self._unanswered)
        return next((scope[IN_FLIGHT] for scope in scopes if IN_FLIGHT in scope), None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._wait_no_more()
        self._leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes. An endless head, chunk extension or trailer is refused before it ends."""
        self._unfinished_bytes += len(data)
        super().data_received(data)
        if self._head_begun or self._is_idle():  # blank lines begin no head, but end uvicorn's wait for one
            self._head_begun = False
            self._wait(HEAD_S)
        if self._unfinished_bytes > HEAD_BYTES:
            self._refuse(_too_large())

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._wait_no_more()
        self._head_begun = True  # most heads come in one piece, and need no timer

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the head. Trailers are refused: uvicorn would add them to the running request's headers."""
        if not self._in_head:
            self._refuse(UserError("invalid_request", "Fields after the body (trailers) are not taken."))
            raise _Refused
        super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Take some of a body."""
        self._unfinished_bytes = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Let the request begin, unless its head is too long, or a proxy before us might have read it otherwise."""
        self._wait_no_more()
        self._in_head = self._head_begun = False
        self._unfinished_bytes = 0
        size, hosts, codings = len(self.url), 0, 0
        for name, value in self.headers:
            size += len(name) + len(value) + 4  # the colon, the blank and the end of the line
            hosts += name == b"host"
            if name == b"transfer-encoding":
                codings += 1 if value.lower() == b"chunked" else 2
        old = self.parser is not None and self.parser.get_http_version() != "1.1"
        if size > HEAD_BYTES or hosts > 1 or codings > (0 if old else 1):
            self._refuse(_too_large() if size > HEAD_BYTES else _unreadable())
            raise _Refused
        super().on_headers_complete()
        cycle = cast(
            "RequestResponseCycle | None", self.cycle
        )  # none before the first request, as for an upgrade
        if cycle is not None and cycle not in self._unanswered:
            self._unanswered = [before for before in self._unanswered if not before.response_complete]
            self._unanswered.append(cycle)

    def on_message_complete(self) -> None:
        """Take the end of a request."""
        self._wait_no_more()
        self._in_head = True
        self._unfinished_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on to the next request; what is still to come of this one's body must come soon."""
        unread = self.cycle.more_body
        super().on_response_complete()
        if unread and not self.transport.is_closing():
            self._wait(REST_S)

    def handle_websocket_upgrade(self) -> None:
        """Go on as a WebSocket; a handshake that none can begin with would wait for ever, and is refused."""
        self._release()  # the transport speaks to the other protocol from now on
        super().handle_websocket_upgrade()
        upgraded = cast("WebSocketsSansIOProtocol", self.transport.get_protocol())
        if not upgraded.handshake_initiated:
            self._refuse(_unreadable())

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._refuse(_unreadable())

    def _is_idle(self) -> bool:
        """Whether everything was answered, and nobody minds how long the next request takes."""
        answered = all(cycle.response_complete for cycle in self._unanswered)
        return self._in_head and answered and self._timer is None and not self.transport.is_closing()

    def _wait(self, seconds: float) -> None:
        self._wait_no_more()
        self._timer = self.loop.call_later(seconds, self._give_up)

    def _wait_no_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        """End a connection that took too long; one that said nothing, as browsers keep them, without a word."""
        if self._in_head and not self._unfinished_bytes:
            self.transport.close()
        else:
            self._refuse(UserError("request_timeout", "The request took too long to come."))

    def _refuse(self, error: UserError) -> None:
        """Answer with an error, once, and close. In the middle of another answer nothing can be said."""
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        speaking = self._leave() or bool(self.pipeline)
        if not speaking:
            body = error_body(error)
            self.transport.write(
                b"%scontent-type: application/json\r\ncontent-length: %d\r\ncache-control: no-store\r\n"
                b"x-content-type-options: nosniff\r\nconnection: close\r\n\r\n%s"
                % (STATUS_LINE[status_of(error)], len(body), body)
            )
        self.transport.close()

    def _leave(self) -> bool:
        """Tell every request of the connection that nobody waits for its answer; return whether one has begun.

        uvicorn tells only the newest: those before it would write to a connection that is closed.
        """
        waiting = [cycle for cycle in self._unanswered if not cycle.response_complete]
        for cycle in waiting:
            cycle.disconnected = True
            cycle.message_event.set()
        return any(cycle.response_started for cycle in waiting)


def _unreadable() -> UserError:
    return UserError(
        "invalid_request", "This is no HTTP request: its head or the length of its body cannot be told."
    )


def _too_large() -> UserError:
    return UserError(
        "headers_too_large", f"The request line and the headers may have {HEAD_BYTES} bytes together."
    )


def _too_many() -> UserError:
    return UserError(
        "too_many_connections", "The server has as many connections as it takes: try again later."
    )
