"""uvicorn's WebSocket with bounds: how large a message may be, and how many bytes a caller may leave unfinished."""

from typing import cast

from uvicorn._types import ASGIReceiveEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from agio.errors import LimitExceeded
from agio.gateway.http.in_flight import IN_FLIGHT, Held
from agio.server.edge import EdgeConfig
from agio.server.unsent import UnsentBytes

_FRAGMENT_BYTES = 64
"""What a fragment of a message costs beside its payload."""
_POLICY_VIOLATION = 1008


class BoundedSocket(UnsentBytes, WebSocketsSansIOProtocol):
    """One WebSocket. BoundedHttp hands over its handshake whole."""

    _waiting_bytes = 0
    """Messages that are complete, and that the application has not yet taken."""

    def held(self) -> Held | None:
        """Return the socket's count, once its application has begun."""
        return cast("dict[str, Held]", self.scope).get(IN_FLIGHT) if hasattr(self, "scope") else None

    def data_received(self, data: bytes) -> None:
        """Take bytes, and count those that are no complete message."""
        if not self.handshake_initiated:
            path = data.split(b" ", 2)[1].partition(b"?")[0].decode("latin-1")
            usual = self.conn.max_message_size
            self.conn.max_message_size = cast("EdgeConfig", self.config).message_bytes.get(path, usual)
        super().data_received(data)
        self._count_received()

    def send_receive_event_to_app(self) -> None:
        """Let a complete message wait for the application."""
        self._waiting_bytes += sum(map(len, self.frames))
        super().send_receive_event_to_app()

    async def receive(self) -> ASGIReceiveEvent:
        """Give the application its next message."""
        message = await super().receive()
        if self._waiting_bytes and self.queue.empty():
            self._waiting_bytes = 0
            self._count_received()
        return message

    def connection_lost(self, exc: Exception | None) -> None:
        """Count nothing more."""
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
