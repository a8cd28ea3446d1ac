"""Rows to the port's structs and back. A row's columns are in the order of a struct's fields."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from agio.core.config import AgentLimits
from agio.core.http_tool import HttpTool
from agio.core.store.records import (
    AgentFields,
    AgentRecord,
    AgentTool,
    MessageRecord,
    SessionRecord,
    SessionState,
)
from agio.core.store.repository import Append, Approval, RunInfo, ToolRecord, TurnRecord
from agio.errors import StoreError
from agio.protocol.messages import Content, Json, Message

S = TypeVar("S", bound=msgspec.Struct)

_RUN = [name for name in RunInfo.__struct_fields__ if name not in ("user_name", "question")]
_AGENT = [name for name in AgentRecord.__struct_fields__ if name != "tools"]
_encode = msgspec.json.Encoder().encode
_decode_turn = msgspec.json.Decoder(TurnRecord).decode
_decode_content = msgspec.json.Decoder(Content).decode
_decode_http_tool = msgspec.json.Decoder(HttpTool).decode
_AGENT_JSON: dict[str, Callable[[bytes], object]] = {
    "output_schema": msgspec.json.Decoder(dict[str, Json]).decode,
    "limits": msgspec.json.Decoder(AgentLimits).decode,
}
"""The columns of an agent that are JSON."""
_decode_names = msgspec.json.Decoder(list[str]).decode


class _ToolRow(msgspec.Struct, frozen=True, array_like=True):
    """A struct and no tuple: msgspec looks at a struct's types once, at a tuple's at every row."""

    name: str
    approval: Approval | None
    tool_id: str
    definition: bytes | None
    updated_at: int


class _SessionState(msgspec.Struct, frozen=True, array_like=True):
    active: SessionState | None
    questions: int


def now_ms() -> int:
    """The time, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def to_struct(kind: type[S], row: Sequence[object]) -> S:
    """A row that has a struct's fields in their order."""
    return msgspec.convert(dict(zip(kind.__struct_fields__, row, strict=True)), kind)


def run_info(row: Sequence[object]) -> RunInfo:
    """A row of `runs`."""
    values = dict(zip(_RUN, row, strict=True))
    values["cancel_requested"] = values["cancel_requested"] is not None
    for name in ("goal_met", "usage_partial"):
        if values[name] is not None:
            values[name] = bool(values[name])
    return msgspec.convert(values, RunInfo)


def agent_record(row: Sequence[object], tools: Iterable[AgentTool]) -> AgentRecord:
    """A row of `agents`, with the tools it was given."""
    values = dict(zip(_AGENT, row, strict=True))
    for name, decode in _AGENT_JSON.items():
        if (packed := values[name]) is not None:
            values[name] = decode(msgspec.convert(packed, bytes))
    return msgspec.convert({**values, "tools": list(tools)}, AgentRecord)


def agent_values(fields: AgentFields) -> dict[str, object]:
    """What is said of an agent as its row has it, without its tools. Raises StoreError `not_storable`."""
    values: dict[str, object] = {name: getattr(fields, name) for name in AgentFields.__struct_fields__}
    del values["tools"]
    for name in _AGENT_JSON:
        if values[name] is not None:
            values[name] = encode_json(f"agent's {name}", values[name])
    return values


def agent_tool(row: Sequence[object]) -> AgentTool:
    """A row of `tools_of_agents`, without the agent's id."""
    found = msgspec.convert(row, _ToolRow)
    if found.definition is None:
        return AgentTool(found.name, found.approval)
    http = _decode_http_tool(found.definition)
    return AgentTool(found.name, found.approval, found.tool_id, http, found.updated_at)


def http_tool(definition: object) -> HttpTool:
    """The definition of an HTTP tool, as JSON."""
    return _decode_http_tool(msgspec.convert(definition, bytes))


def session_record(row: Sequence[object], last_pos: int) -> SessionRecord:
    """A row of `session_columns`: what is active and asked becomes the state."""
    now = msgspec.convert(row[7:9], _SessionState)
    state: SessionState = "waiting" if now.questions and now.active != "running" else now.active or "idle"
    pending = decode_names(msgspec.convert(row[10], str))
    fields = (*row[:7], state, row[9], pending, *row[11:14], last_pos, *row[17:], None)
    return to_struct(SessionRecord, fields)


def message_record(row: Sequence[object]) -> MessageRecord:
    """A row of `message_columns`."""
    return to_struct(MessageRecord, row[:6])


def encode_message(message: Message) -> bytes:
    """A message as it is kept. Raises StoreError `not_storable`."""
    return encode_json("message", message)


def encode_json(what: str, value: object) -> bytes:
    """A value as JSON. Raises StoreError `not_storable`."""
    try:
        return _encode(value)
    except (TypeError, ValueError) as error:
        raise StoreError("not_storable", f"The {what} cannot be written as JSON: {error}.") from error


def encode_names(names: Iterable[str]) -> str:
    """Names as JSON text."""
    return _encode(list(names)).decode()


def decode_names(text: str) -> list[str]:
    """Names from JSON text."""
    return _decode_names(text)


def pack_turns(write: Append) -> list[dict[str, object]]:
    """The rows of `turns` a write adds. Raises StoreError `not_storable`."""
    return [
        {
            "run_id": write.frame.run_id,
            "seq": turn.seq,
            "step": turn.step,
            "record": encode_json("turn record", turn),
        }
        for turn in write.turns
    ]


def turn_record(blob: bytes) -> TurnRecord:
    """A row of `turns`."""
    return _decode_turn(blob)


def pack_content(record: ToolRecord) -> bytes | None:
    """The content of a finished tool call as JSON. Raises StoreError `not_storable`."""
    return None if record.content is None else encode_json("tool result", record.content)


def tool_record(row: Sequence[object]) -> ToolRecord:
    """A row of `tool_executions`: content and error."""
    content, error = msgspec.convert(row, tuple[bytes | None, str | None])
    return ToolRecord(None if content is None else _decode_content(content), error)


def check_frame(write: Append) -> None:
    """Raise StoreError `invalid_frame` for a frame that would break the log's counting."""
    frame = write.frame
    if (
        frame.first_seq < 1
        or frame.payload.count(b"\n") != frame.count
        or frame.payload[-1:] not in (b"\n", b"")
    ):
        raise StoreError(
            "invalid_frame",
            f"The frame of run {frame.run_id} at {frame.first_seq} does not hold {frame.count} lines.",
        )
    create = write.create
    if create is not None and (create.run_id, create.epoch, 1) != (
        frame.run_id,
        frame.epoch,
        frame.first_seq,
    ):
        raise StoreError("invalid_frame", f"The first frame of run {create.run_id} does not fit it.")
    for turn in write.turns:
        if turn.run_id != frame.run_id:
            raise StoreError("invalid_frame", f"A turn of run {turn.run_id} came with run {frame.run_id}.")
