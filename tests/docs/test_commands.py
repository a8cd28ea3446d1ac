"""The tables of the WebSocket in docs/streaming_protocol.md say what the structs of the commands say."""

from typing import cast, get_args

import msgspec

from agio.core.config import ServerLimits
from agio.core.store.records import EventSlice
from agio.gateway.stream.event_slice import EncodedSlice
from agio.protocol.commands import Answer, Answered, Command
from tests.support.pages import ROOT, rows_under, unquoted

PAGE = ROOT / "docs" / "streaming_protocol.md"


def _fields(structs: object) -> set[tuple[str, str]]:
    named: set[tuple[str, str]] = set()
    for struct in cast("tuple[type[msgspec.Struct]]", get_args(structs)):
        tag = str(struct.__struct_config__.tag)
        named |= {(tag, field.name) for field in msgspec.structs.fields(struct)}
    return named


def _rows() -> set[tuple[str, str]]:
    return {(unquoted(row[0]), unquoted(row[1])) for row in rows_under(PAGE, "WebSocket")}


def test_every_field_of_every_command_and_answer_is_on_the_page() -> None:
    """L8, R1: and none that does not exist."""
    commands = {(tag, field) for tag, field in _fields(Command) if field != "id"} | {("ping", "")}
    commands |= {("approve", f"answers[].{field.name}") for field in msgspec.structs.fields(Answer)}
    events = msgspec.json.decode(
        EncodedSlice("ses_1", EventSlice("run_1", 1, 1, b"{}\n")).realtime, type=dict[str, msgspec.Raw]
    )
    answers = _fields(Answered) | {("events", field) for field in events if field != "type"}
    assert _rows() == commands | answers


def test_the_numbers_of_the_page_are_the_limits() -> None:
    """L8: the words about sizes and times are true of the defaults."""
    text = PAGE.read_text()
    limits = ServerLimits()
    assert f"A socket may have {limits.subscriptions_per_socket} subscriptions" in text
    assert f"every {limits.keep_alive_s:.0f} s of silence" in text
    assert f"at most {limits.ag_ui_body_bytes // 2**20} MiB" in text
    assert f"A command may have {limits.json_body_bytes // 2**20} MiB" in text
