"""The write buffer of a connection whose reader is slow: counted against its caller; a stalled one is closed."""

import asyncio
import logging

from agio.errors import LimitExceeded
from agio.gateway.http.in_flight import Held

_log = logging.getLogger("agio.http")


class UnsentBytes(asyncio.Protocol):
    """The part of HTTP and WebSocket connections that watches their write buffer.

    A small buffer is not counted: nothing is done for a write unless it fills the buffer.
    """

    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop
    _paused = False
    _pauses = 0
    _counted: Held | None = None
    _seen: tuple[int, int] | None = None
    """Which pause it was and how much was buffered when `drop_if_stalled` last looked."""

    def held(self) -> Held | None:
        """Return the count of the current request."""
        raise NotImplementedError

    def pause_writing(self) -> None:
        """Count the buffered bytes. A connection whose caller has too many bytes in flight is closed at once."""
        super().pause_writing()
        self._paused = True
        self._pauses += 1
        self._count()

    def resume_writing(self) -> None:
        """Stop counting."""
        super().resume_writing()
        self._paused = False
        self._release()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting."""
        self._release()
        super().connection_lost(exc)

    def drop_if_stalled(self) -> None:
        """Close the connection at once if its reader took nothing since the last call."""
        size = self.transport.get_write_buffer_size()
        waits = size > 0 and (self._paused or self.transport.is_closing())
        if waits and self._seen is not None and self._seen[0] == self._pauses and size >= self._seen[1]:
            _log.info("A connection was closed: its reader stalled with %d bytes unsent.", size)
            self.transport.abort()
        self._seen = (self._pauses, size) if waits else None
        if self._paused:
            self._count()  # several writers may have waited for the last pause to end

    def _count(self) -> None:
        counted = self._counted or self.held()
        if counted is None:
            return
        self._counted = counted
        try:
            counted.set_unsent(self.transport.get_write_buffer_size())
        except LimitExceeded as error:
            _log.info("A connection was closed: %s", error)
            self.loop.call_soon(self.transport.abort)  # this may run within a write of the transport

    def _release(self) -> None:
        if self._counted is not None:
            self._counted.set_unsent(0)
            self._counted = None
