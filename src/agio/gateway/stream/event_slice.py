"""Consecutive events for readers: the log's bytes and their encodings for SSE and the WebSocket.

Each encoding is made once, when the first reader needs it, and shared by all of them.
"""

from collections.abc import Iterator

import msgspec

from agio.core.store.records import EventSlice

_encode = msgspec.json.Encoder().encode


class EncodedSlice:
    """Consecutive events of one run of a session. Lines end with LF, as in the log."""

    __slots__ = ("_realtime", "_sse", "events", "first_pos", "last_pos", "run_id", "session_id")

    def __init__(self, session_id: str, events: EventSlice) -> None:
        self.session_id = session_id
        self.events = events
        self.run_id = events.run_id
        self.first_pos = events.first_pos
        self.last_pos = events.last_pos
        self._sse: bytes | None = None
        self._realtime: str | None = None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield each event's position and line, without the LF."""
        return enumerate(self.events.payload.split(b"\n")[:-1], self.first_pos)

    def after(self, pos: int) -> "EncodedSlice":
        """Return the part after a position, which must lie in it."""
        events = self.events
        seen = pos + 1 - self.first_pos
        rest = events.payload.split(b"\n", seen)[seen]
        return EncodedSlice(self.session_id, EventSlice(events.run_id, pos + 1, events.count - seen, rest))

    @property
    def sse(self) -> bytes:
        """The events as frames of server-sent events."""
        if self._sse is None:
            if self.events.count == 1:
                self._sse = b"id: %d\ndata: %b\n" % (self.first_pos, self.events.payload)
            else:
                self._sse = b"".join([b"id: %d\ndata: %b\n\n" % event for event in self.lines()])
        return self._sse

    @property
    def realtime(self) -> str:
        """The events as one message of the WebSocket."""
        if self._realtime is None:
            events = self.events
            joined = events.payload[:-1].replace(b"\n", b",").decode()
            self._realtime = (
                f'{{"type":"events","session_id":{_quote(self.session_id)},"run_id":{_quote(events.run_id)},'
                f'"pos":{events.first_pos},"events":[{joined}]}}'
            )
        return self._realtime


def _quote(name: str) -> str:
    """Return an id as JSON: a program chooses its thread ids freely."""
    return _encode(name).decode()


def frame(pos: int | None, line: bytes) -> bytes:
    """Return an event as a frame of server-sent events. Without a position no reader can resume after it."""
    return b"data: %b\n\n" % line if pos is None else b"id: %d\ndata: %b\n\n" % (pos, line)
