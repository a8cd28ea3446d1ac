"""A frame: consecutive events of one run as JSON lines, stored, published and relayed as bytes."""

from msgspec import Struct

from agio.protocol.codec import decode_lines
from agio.protocol.events import AgentEvent

STARTED = b'{"type":"RUN_STARTED"'
FINISHED = b'{"type":"RUN_FINISHED"'
FAILED = b'{"type":"RUN_ERROR"'
CUSTOM = b'{"type":"CUSTOM"'
TOOL_RESULT = b'{"type":"TOOL_CALL_RESULT"'
TEXT = b'{"type":"TEXT_MESSAGE_CHUNK"'
SPEECH = (b'{"type":"TEXT_MESSAGE_', b'{"type":"REASONING_MESSAGE_')
"""The first bytes of an event's line, which identify its type without decoding."""


class Frame(Struct, frozen=True):
    """Events `first_seq` to `last_seq` of a run, written under the claim `epoch`; lines end with LF."""

    run_id: str
    epoch: int
    first_seq: int
    count: int
    payload: bytes

    @property
    def last_seq(self) -> int:
        """The sequence number of the last event in the frame."""
        return self.first_seq + self.count - 1

    def events(self) -> list[AgentEvent]:
        """Decode the events."""
        return decode_lines(self.payload)


def ends_run(payload: bytes) -> bool:
    """Whether the last of these JSON lines ends its run. Nothing is decoded."""
    line = payload.rfind(b"\n", 0, -1) + 1
    return payload.startswith((FINISHED, FAILED), line)


def skip_lines(payload: bytes, count: int) -> bytes:
    """Return the payload without its first `count` lines."""
    at = 0
    for _ in range(count):
        at = payload.index(b"\n", at) + 1
    return payload[at:]


def cut_lines(payload: bytes, first_seq: int, last_seq: int, after: int, upto: int) -> bytes:
    """Return the lines of events after `after` and up to `upto`, of a payload with `first_seq` to `last_seq`."""
    if first_seq <= after:
        payload = skip_lines(payload, after - first_seq + 1)
        first_seq = after + 1
    if upto < last_seq:
        payload = payload[: len(payload) - len(skip_lines(payload, upto - first_seq + 1))]
    return payload


def first_lines(payload: bytes, limit_bytes: int) -> bytes:
    """Return the first lines that have `limit_bytes` together, at least one; all if they have less."""
    return (
        payload
        if len(payload) < limit_bytes
        else payload[: payload.index(b"\n", max(limit_bytes - 1, 0)) + 1]
    )
