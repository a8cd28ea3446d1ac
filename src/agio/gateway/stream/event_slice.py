"""A piece of a session's stream on its way to readers: the log's bytes, and the texts that carry them.

Each text is made once, when the first reader needs it, and shared by all of them.
"""

from collections.abc import Iterator

import msgspec

from agio.core.store.records import EventSlice

_encode = msgspec.json.Encoder().encode


class OutgoingSlice:
    """Consecutive events of one run. Lines end with LF, as the log has them."""

    __slots__ = ("_realtime", "_sse", "chunk", "first_pos", "last_pos", "run_id", "session_id")

    def __init__(self, session_id: str, chunk: EventSlice) -> None:
        self.session_id = session_id
        self.chunk = chunk
        self.run_id = chunk.run_id
        self.first_pos = chunk.first_pos
        self.last_pos = chunk.last_pos
        self._sse: bytes | None = None
        self._realtime: str | None = None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield each event's position and line, without the line's end."""
        return enumerate(self.chunk.payload.split(b"\n")[:-1], self.first_pos)

    def after(self, pos: int) -> "OutgoingSlice":
        """Return the part after a position, which must lie in it."""
        chunk = self.chunk
        seen = pos + 1 - self.first_pos
        rest = chunk.payload.split(b"\n", seen)[seen]
        return OutgoingSlice(self.session_id, EventSlice(chunk.run_id, pos + 1, chunk.count - seen, rest))

    @property
    def sse(self) -> bytes:
        """The events as frames of server-sent events."""
        if self._sse is None:
            if self.chunk.count == 1:
                self._sse = b"id: %d\ndata: %b\n" % (self.first_pos, self.chunk.payload)
            else:
                self._sse = b"".join([b"id: %d\ndata: %b\n\n" % event for event in self.lines()])
        return self._sse

    @property
    def realtime(self) -> str:
        """The events as one message of the WebSocket."""
        if self._realtime is None:
            chunk = self.chunk
            events = chunk.payload[:-1].replace(b"\n", b",").decode()
            self._realtime = (
                f'{{"type":"events","session_id":{_quote(self.session_id)},"run_id":{_quote(chunk.run_id)},'
                f'"pos":{chunk.first_pos},"events":[{events}]}}'
            )
        return self._realtime


def _quote(name: str) -> str:
    """Return an id as JSON: a program names its threads as it likes."""
    return _encode(name).decode()


def frame(pos: int | None, line: bytes) -> bytes:
    """Return an event as a frame of server-sent events; one without a position cannot be resumed after."""
    return b"data: %b\n\n" % line if pos is None else b"id: %d\ndata: %b\n\n" % (pos, line)
