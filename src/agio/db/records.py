"""Converts rows to the port's structs and back."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from agio.core.config import AgentLimits
from agio.core.handoff import Handoff
from agio.core.http_tool import HttpTool
from agio.core.mcp import McpTool
from agio.core.store.records import (
    AgentFields,
    AgentRecord,
    AgentTool,
    MessageRecord,
    SessionRecord,
    SessionState,
    definition_of,
)
from agio.core.store.repository import Append, RunInfo, ToolRecord, TurnRecord
from agio.db.queries import AGENT_COLUMNS
from agio.db.rows import MessageRow, RunRow, SessionRow, ToolRow, as_row
from agio.errors import StoreError
from agio.protocol.messages import Content, Json, Message

_encode = msgspec.json.Encoder().encode
_decode_turn = msgspec.json.Decoder(TurnRecord).decode
_decode_content = msgspec.json.Decoder(Content).decode
_decode_http_tool = msgspec.json.Decoder(HttpTool).decode
_decode_mcp_tool = msgspec.json.Decoder(McpTool).decode
_decode_names = msgspec.json.Decoder(list[str]).decode
_AGENT_JSON: Mapping[str, Callable[[bytes], object]] = {
    "output_schema": msgspec.json.Decoder(dict[str, Json]).decode,
    "limits": msgspec.json.Decoder(AgentLimits).decode,
    "handoffs": msgspec.json.Decoder(list[Handoff]).decode,
    "collections": _decode_names,
}
"""The columns of an agent that are JSON."""


def now_ms() -> int:
    """The time, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def run_info(row: Sequence[object]) -> RunInfo:
    """A row of `run_columns`."""
    return run_of(as_row(RunRow, row))


def run_of(row: RunRow) -> RunInfo:
    """The run of a row."""
    # In the order of RunInfo's fields: thirty keywords would cost three times as much, and every read pays it.
    return RunInfo(
        row.run_id,
        row.session_id,
        row.agent,
        row.model,
        row.status,
        row.epoch,
        row.last_seq,
        row.created_at,
        row.ended_at,
        row.mark,
        row.tenant,
        row.user,
        row.first_pos,
        row.error_code,
        row.title,
        row.agent_id,
        row.alias,
        row.cancel_requested_at is not None,
        row.worker,
        row.token_hash,
        row.started_at,
        None if row.goal_met is None else bool(row.goal_met),
        row.request_id,
        row.steps,
        row.input_tokens,
        row.output_tokens,
        row.cost,
        None if row.usage_partial is None else bool(row.usage_partial),
        row.error_message,
        row.copied_from,
        row.parent_run_id,
        row.parent_seq,
        bool(row.branched),
        row.definition,
        row.log_level,
        row.active_agent,
    )


def agent_record(row: Sequence[object], tools: Iterable[AgentTool] = ()) -> AgentRecord:
    """An agent from `agent_columns`, with the tools it was given."""
    values = dict(zip(AGENT_COLUMNS, row, strict=True))
    for name, decode in _AGENT_JSON.items():
        if values[name] is not None:
            values[name] = decode(cast(bytes, values[name]))
    values["handoffs"] = values["handoffs"] or []
    values["collections"] = values["collections"] or []
    values["search_conversations"] = bool(values["search_conversations"])
    return AgentRecord(**cast("dict[str, Any]", values), tools=list(tools))


def split_agent(selected: Sequence[object]) -> tuple[AgentRecord, Sequence[object]]:
    """Split a row that begins with `agent_columns` into the agent and the other columns."""
    count = len(AGENT_COLUMNS)
    return agent_record(selected[:count]), selected[count:]


def agent_values(fields: AgentFields) -> dict[str, object]:
    """The columns of an agent's definition. Raises StoreError `not_storable`."""
    values = definition_of(fields)
    for name in _AGENT_JSON:
        values[name] = values[name] or None
        if values[name] is not None:
            values[name] = encode_json(f"agent's {name}", values[name])
    values["search_conversations"] = int(fields.search_conversations)
    return values


def agent_tool(row: ToolRow) -> AgentTool:
    """An assigned tool, with its definition if it is an HTTP tool or one of an MCP server."""
    if row.definition is None:
        return AgentTool(row.name, row.approval)
    if row.kind == "mcp":
        definition = _decode_mcp_tool(row.definition)
        return AgentTool(row.name, row.approval, row.tool_id, None, row.updated_at, definition)
    return AgentTool(row.name, row.approval, row.tool_id, _decode_http_tool(row.definition), row.updated_at)


def http_tool(definition: object) -> HttpTool:
    """The definition of an HTTP tool, as JSON."""
    return _decode_http_tool(msgspec.convert(definition, bytes))


def session_record(row: SessionRow, last_pos: int) -> SessionRecord:
    """A session. Its state follows from its active run and its open questions."""
    state: SessionState = "waiting" if row.questions and row.active != "running" else row.active or "idle"
    return SessionRecord(
        id=row.id,
        tenant=row.tenant,
        user=row.user,
        agent_id=row.agent_id,
        agent_name=row.agent_name,
        title=row.title,
        on_busy=row.on_busy,
        state=state,
        alias=row.alias,
        pending=[] if row.active else decode_names(row.pending),
        created_at=row.created_at,
        updated_at=row.updated_at,
        last_run_id=row.last_run_id,
        last_pos=last_pos,
        seen_pos=row.seen_pos,
        forked_from=row.forked_from,
        leaf_run_id=row.leaf_run_id or row.last_run_id,
        branched=bool(row.last_branched) or row.leaf_run_id is not None,
        active_agent=row.active_agent or None,
    )


def message_record(row: MessageRow) -> MessageRecord:
    """A message without its place in the session."""
    return MessageRecord(
        id=row.id,
        run_id=row.run_id,
        role=row.role,
        message=row.message,
        created_at=row.created_at,
        pos=row.pos,
    )


def encode_message(message: Message) -> bytes:
    """Encode a message. Raises StoreError `not_storable`."""
    return encode_json("message", message)


def encode_json(what: str, value: object) -> bytes:
    """Encode a value as JSON; `what` names it in the error. Raises StoreError `not_storable`."""
    try:
        return _encode(value)
    except (TypeError, ValueError) as error:
        raise StoreError("not_storable", f"The {what} cannot be written as JSON: {error}.") from error


def encode_names(names: Iterable[str]) -> str:
    """Encode names as JSON text."""
    return _encode(list(names)).decode()


def decode_names(text: str) -> list[str]:
    """Decode names from JSON text."""
    return _decode_names(text)


def pack_turns(write: Append) -> list[dict[str, object]]:
    """The rows of `turns` that an append adds. Raises StoreError `not_storable`."""
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
    """Decode a turn record."""
    return _decode_turn(blob)


def pack_content(record: ToolRecord) -> bytes | None:
    """The content of a finished tool call as JSON. Raises StoreError `not_storable`."""
    return None if record.content is None else encode_json("tool result", record.content)


def tool_record(content: bytes | None, error: str | None) -> ToolRecord:
    """A tool call from its columns."""
    return ToolRecord(None if content is None else _decode_content(content), error)


def check_frame(write: Append) -> None:
    """Raise StoreError `invalid_frame` for a frame whose seqs or ids do not fit its payload."""
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
