"""Encodes events as JSON lines and decodes them. An event is encoded once, where it is made."""

import msgspec

from agio.errors import UserError
from agio.protocol.events import AgentEvent
from agio.protocol.messages import RunAgentInput

encode = msgspec.json.Encoder().encode
"""Encode an event or any other wire struct as one line of JSON, without the newline."""

_event_decoder = msgspec.json.Decoder(AgentEvent)
_input_decoder = msgspec.json.Decoder(RunAgentInput)


def decode_event(line: bytes | str) -> AgentEvent:
    """Decode one event. Raises UserError `invalid_event`."""
    try:
        return _event_decoder.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UserError("invalid_event", f"This is not an AG-UI 1.0 event: {error}.") from error


def decode_lines(payload: bytes) -> list[AgentEvent]:
    """Decode the events of a frame's payload. Raises UserError `invalid_event`."""
    return [decode_event(line) for line in payload.split(b"\n") if line]


def decode_input(body: bytes | str) -> RunAgentInput:
    """Decode a RunAgentInput. Raises UserError `invalid_input`."""
    try:
        return _input_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UserError("invalid_input", f"This is not an AG-UI 1.0 run input: {error}.") from error
