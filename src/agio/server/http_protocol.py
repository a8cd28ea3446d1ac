"""uvicorn's HTTP protocol with bounds: on the number of connections, the size of a head, and the time it may take.

Bytes that are not HTTP get an error in our shape, and the connection is closed. Requests are not pipelined: one that
comes before the answer to the last is dropped, and the connection is closed after that answer. What this overrides
in uvicorn is pinned in tests/unit/cli/test_http_protocol.py.
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
"""How long the rest of a body may take when its request was answered before it was read."""


class _Refused(Exception):
    """The request was refused: stop the parser."""


class BoundedHttp(UnsentBytes, HttpToolsProtocol):
    """One connection."""

    _in_head = True
    _head_begun = False
    """Whether part of a head has come, and no timer runs for the rest yet."""
    _unfinished_bytes = 0
    """Bytes since the last complete head or body data: an unfinished head, chunk size or trailer."""
    _timer: asyncio.TimerHandle | None = None
    _refused = False
    _pipelined = False
    """Whether the next request came too early: everything that follows is dropped."""
    _early = b""
    """The next request of a client that has the whole answer before the application has ended it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > cast("EdgeConfig", self.config).max_connections:
            self._refuse(_too_many())
            return
        self._wait(HEAD_S)

    def held(self) -> Held | None:
        """Return the count of the current request, or of the last one."""
        cycle = self._cycle()
        return None if cycle is None else cast("dict[str, Held]", cycle.scope).get(IN_FLIGHT)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes. An endless head, chunk extension or trailer is refused before it ends."""
        if self._pipelined:
            return
        if self._in_head and self._is_answering():
            self._early += data
            if len(self._early) > HEAD_BYTES:
                self._drop_pipelined()
            return
        self._unfinished_bytes += len(data)
        super().data_received(data)
        if self._head_begun or self._is_idle():  # blank lines begin no head, but stop uvicorn's timer
            self._head_begun = False
            self._wait(HEAD_S)
        if self._unfinished_bytes > HEAD_BYTES:
            self._refuse(_too_large())

    def on_message_begin(self) -> None:
        """Begin a request, unless the last one is not yet answered."""
        if self._is_answering():
            self._drop_pipelined()
            raise _Refused
        super().on_message_begin()
        self._wait_no_more()
        self._head_begun = True  # most heads come in one packet and need no timer

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the head. Trailers are refused: uvicorn would add them to the request's headers."""
        if not self._in_head:
            self._refuse(UserError("invalid_request", "Fields after the body (trailers) are not supported."))
            raise _Refused
        super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Take data of a body."""
        self._unfinished_bytes = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Start the request, unless its head is too long, or a proxy in front might have parsed it differently."""
        self._wait_no_more()
        self._in_head = self._head_begun = False
        self._unfinished_bytes = 0
        size, hosts, codings = len(self.url), 0, 0
        for name, value in self.headers:
            size += len(name) + len(value) + 4  # the colon, the space and the line end
            hosts += name == b"host"
            if name == b"transfer-encoding":
                codings += 1 if value.lower() == b"chunked" else 2
        old = self.parser is not None and self.parser.get_http_version() != "1.1"
        if size > HEAD_BYTES or hosts > 1 or codings > (0 if old else 1):
            self._refuse(_too_large() if size > HEAD_BYTES else _unreadable())
            raise _Refused
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Take the end of a request."""
        self._wait_no_more()
        self._in_head = True
        self._unfinished_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Continue with the next request. The rest of this one's body must arrive soon."""
        unread = self.cycle.more_body
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if unread:
            self._wait(REST_S)
        if self._early:
            early, self._early = self._early, b""
            self.data_received(early)

    def handle_websocket_upgrade(self) -> None:
        """Continue as a WebSocket. An invalid handshake, which would wait forever, is refused."""
        self._release()  # the transport now belongs to the other protocol
        super().handle_websocket_upgrade()
        upgraded = cast("WebSocketsSansIOProtocol", self.transport.get_protocol())
        if not upgraded.handshake_initiated:
            self._refuse(_unreadable())

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP. A pipelined request gets no answer."""
        if not self._pipelined:
            self._refuse(_unreadable())

    def _is_idle(self) -> bool:
        """Whether no request is unanswered, and no timer runs for the next one."""
        waiting = self._in_head and not self._is_answering()
        return waiting and self._timer is None and not self.transport.is_closing()

    def _is_answering(self) -> bool:
        cycle = self._cycle()
        return cycle is not None and not cycle.response_complete

    def _drop_pipelined(self) -> None:
        """Answer the current request, then close: requests are not pipelined."""
        self._pipelined, self._early = True, b""
        self.cycle.keep_alive = False

    def _cycle(self) -> RequestResponseCycle | None:
        return self.cycle  # uvicorn has None before the first request, and for an upgrade

    def _wait(self, seconds: float) -> None:
        self._wait_no_more()
        self._timer = self.loop.call_later(seconds, self._give_up)

    def _wait_no_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        """Close a connection that took too long. One without a byte, as browsers keep them, gets no answer."""
        if self._in_head and not self._unfinished_bytes:
            self.transport.close()
        else:
            self._refuse(UserError("request_timeout", "The request took too long to arrive."))

    def _refuse(self, error: UserError) -> None:
        """Answer with an error, once, and close. An answer that has started is cut off instead."""
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        answering = self._is_answering()
        if answering:  # its application must not write after the error
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if not (answering and self.cycle.response_started):
            body = error_body(error)
            self.transport.write(
                b"%scontent-type: application/json\r\ncontent-length: %d\r\ncache-control: no-store\r\n"
                b"x-content-type-options: nosniff\r\nconnection: close\r\n\r\n%s"
                % (STATUS_LINE[status_of(error)], len(body), body)
            )
        self.transport.close()


def _unreadable() -> UserError:
    return UserError(
        "invalid_request",
        "This is not a valid HTTP request: its head or the length of its body is ambiguous.",
    )


def _too_large() -> UserError:
    return UserError(
        "headers_too_large", f"The request line and the headers may have at most {HEAD_BYTES} bytes together."
    )


def _too_many() -> UserError:
    return UserError("too_many_connections", "The server has too many open connections. Try again later.")
