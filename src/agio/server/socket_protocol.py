"""uvicorn's WebSocket protocol with bounds on the size of a message and the unfinished bytes of a caller.

What this overrides in uvicorn is pinned in tests/unit/cli/test_http_protocol.py.
"""

from typing import cast

from uvicorn._types import ASGIReceiveEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from agio.errors import LimitExceeded
from agio.gateway.http.in_flight import IN_FLIGHT, Held
from agio.server.edge import EdgeConfig
from agio.server.unsent import UnsentBytes

_FRAGMENT_BYTES = 64
"""The memory of a fragment besides its payload."""
_POLICY_VIOLATION = 1008


class BoundedSocket(UnsentBytes, WebSocketsSansIOProtocol):
    """One WebSocket. BoundedHttp passes it the whole handshake."""

    _waiting_bytes = 0
    """Complete messages that the application has not received yet."""

    def held(self) -> Held | None:
        """Return the socket's count, once its application has started."""
        return cast("dict[str, Held]", self.scope).get(IN_FLIGHT) if hasattr(self, "scope") else None

    def data_received(self, data: bytes) -> None:
        """Take bytes, and count those of incomplete messages."""
        if not self.handshake_initiated:
            path = data.split(b" ", 2)[1].partition(b"?")[0].decode("latin-1")
            usual = self.conn.max_message_size
            self.conn.max_message_size = cast("EdgeConfig", self.config).message_bytes.get(path, usual)
        super().data_received(data)
        self._count_received()

    def send_receive_event_to_app(self) -> None:
        """Queue a complete message for the application."""
        self._waiting_bytes += sum(map(len, self.frames))
        super().send_receive_event_to_app()

    async def receive(self) -> ASGIReceiveEvent:
        """Return the next message to the application."""
        message = await super().receive()
        if self._waiting_bytes and self.queue.empty():
            self._waiting_bytes = 0
            self._count_received()
        return message

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting."""
        super().connection_lost(exc)
        if (held := self.held()) is not None:
            held.set_received(0)

    def _count_received(self) -> None:
        held = self.held()
        if held is None or self.transport.is_closing():
            return
        unfinished = len(self.conn.reader.buffer) + (self.conn.current_size or 0)
        try:
            held.set_received(unfinished + _FRAGMENT_BYTES * len(self.frames) + self._waiting_bytes)
        except LimitExceeded as error:
            self.conn.fail(_POLICY_VIOLATION, error.code)
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.close_sent = True
            self.transport.close()
