"""The codec refuses what is no event with one error, and an encoded event is one line."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agio.errors import UserError
from agio.protocol.codec import decode_event, decode_input, decode_lines, encode
from agio.protocol.events import AgentEvent, Custom, TextMessageChunk
from agio.protocol.frames import Frame
from tests.support.wire_examples import Wire, read_examples, read_streams

EVENTS = [example.wire for example in read_examples() if example.file == "events"]
CUSTOM = b'{"type":"CUSTOM","name":"n","value":%s}'
INVALID: dict[str, bytes | str] = {
    "nothing": b"",
    "space": b" \n",
    "garbage": b"\x00\x01garbage",
    "null": b"null",
    "a list": b"[]",
    "a number": b"7",
    "no type": b"{}",
    "a type that is no text": b'{"type":7}',
    "a type that AG-UI does not have": b'{"type":"THINKING_START"}',
    "a message's name for a type": b'{"type":"assistant"}',
    "a missing field": b'{"type":"RUN_STARTED","runId":"r"}',
    "a field of the wrong type": b'{"type":"RUN_STARTED","threadId":"t","runId":7}',
    "a field named as in Python": b'{"type":"RUN_STARTED","thread_id":"t","run_id":"r"}',
    "null in an optional field": b'{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":null}',
    "half an event": b'{"type":"RUN_STARTED","threadId":"t"',
    "two events": CUSTOM % b"1" + CUSTOM % b"2",
    "deep nesting": CUSTOM % (b"[" * 100_000 + b"]" * 100_000),
    "deep nesting, cut off": CUSTOM % (b"[" * 100_000),
    "a long number": CUSTOM % (b"9" * 10_000),
    "a number without bounds": CUSTOM % b"1e999",
    "not a number": CUSTOM % b"NaN",
    "an escaped lone surrogate": CUSTOM % b'"\\ud800"',
    "a lone surrogate in text": '{"type":"CUSTOM","name":"\ud800","value":1}',
    "an encoded lone surrogate": CUSTOM % b'"\xed\xa0\x80"',
    "invalid UTF-8 in a value": CUSTOM % b'"\xff"',
    "invalid UTF-8 in a name": b'{"type":"CUSTOM","name":"\xc3","value":1}',
    "UTF-16": '{"type":"CUSTOM","name":"n","value":1}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + CUSTOM % b"1",
}


@pytest.mark.parametrize("line", INVALID.values(), ids=INVALID)
def test_what_is_no_event_is_refused_with_one_code(line: bytes | str) -> None:
    """R8: whatever the line is, the error is `invalid_event`, with its cause."""
    with pytest.raises(UserError) as refused:
        decode_event(line)
    assert refused.value.code == "invalid_event"
    assert refused.value.__cause__ is not None


@pytest.mark.parametrize("body", INVALID.values(), ids=INVALID)
def test_what_is_no_input_is_refused_with_one_code(body: bytes | str) -> None:
    """R8: whatever the body is, the error is `invalid_input`."""
    with pytest.raises(UserError) as refused:
        decode_input(body)
    assert refused.value.code == "invalid_input"


@settings(max_examples=300, deadline=None, database=None)
@given(line=st.one_of(st.binary(max_size=80), st.text(st.characters(), max_size=80)))
def test_random_lines_raise_nothing_else(line: bytes | str) -> None:
    """R8: no line brings another exception than UserError."""
    with pytest.raises(UserError):
        decode_event(line)


@settings(max_examples=300, deadline=None, database=None)
@given(wire=st.sampled_from(EVENTS), at=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_an_event_with_one_byte_changed_decodes_or_is_refused(wire: Wire, at: int, byte: int) -> None:
    """R8: damage to an event brings no other exception than UserError."""
    line = bytearray(encode(wire))
    line[at % len(line)] = byte
    with contextlib.suppress(UserError):
        decode_event(bytes(line))


def test_an_encoded_event_is_one_line_whatever_its_text() -> None:
    """L8: an event is one line of JSON, as NDJSON and SSE need it."""
    text = "a\nb\rc\r\nd\u2028e\u0085f\x00g \N{MUSICAL SYMBOL G CLEF}"
    line = encode(TextMessageChunk(message_id="m1", delta=text))
    assert b"\n" not in line
    assert b"\r" not in line
    assert decode_event(line) == TextMessageChunk(message_id="m1", delta=text)


def test_optional_fields_that_are_not_set_are_not_written() -> None:
    """R8: an optional field without a value is absent from the wire."""
    assert json.loads(encode(Custom(name="n", value=None))) == {"type": "CUSTOM", "name": "n", "value": None}


def test_a_frame_holds_the_events_of_its_lines() -> None:
    """L9: a frame numbers its events and gives them back in order."""
    events: list[AgentEvent] = [decode_event(line) for line in read_streams("streams")[6].lines]
    payload = b"".join(encode(event) + b"\n" for event in events)
    frame = Frame(run_id="run_1", epoch=1, first_seq=5, count=len(events), payload=payload)
    assert frame.events() == events == decode_lines(payload)
    assert frame.last_seq == 5 + len(events) - 1


def test_a_frame_with_a_damaged_line_is_refused() -> None:
    """L9: a payload that is no events does not pass for one."""
    with pytest.raises(UserError, match="invalid_event"):
        decode_lines(CUSTOM % b"1" + b"\n{\n")
