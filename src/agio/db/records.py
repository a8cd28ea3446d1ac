"""Rows to the port's structs and back."""

from collections.abc import Sequence

import msgspec

from agio.core.repository import Append, RunInfo, ToolRecord, TurnRecord
from agio.errors import StoreError
from agio.protocol.messages import Content

_FIELDS = RunInfo.__struct_fields__
_encode = msgspec.json.Encoder().encode
_decode_turn = msgspec.json.Decoder(TurnRecord).decode
_decode_content = msgspec.json.Decoder(Content).decode


def run_info(row: Sequence[object]) -> RunInfo:
    """A row of `runs`, its columns in the order of RunInfo's fields."""
    return msgspec.convert(dict(zip(_FIELDS, row, strict=True)), RunInfo)


def pack_turns(write: Append) -> list[tuple[str, int, int, bytes]]:
    """The rows of `turns` a write adds. Raises StoreError `not_storable`."""
    if not write.turns:
        return []
    try:
        return [(write.frame.run_id, turn.seq, turn.step, _encode(turn)) for turn in write.turns]
    except (TypeError, ValueError) as error:
        raise _not_storable("turn record", error) from error


def turn_record(blob: bytes) -> TurnRecord:
    """A row of `turns`."""
    return _decode_turn(blob)


def pack_content(record: ToolRecord) -> bytes | None:
    """The content of a finished tool call as JSON. Raises StoreError `not_storable`."""
    try:
        return None if record.content is None else _encode(record.content)
    except (TypeError, ValueError) as error:
        raise _not_storable("tool result", error) from error


def tool_record(row: Sequence[object]) -> ToolRecord:
    """A row of `tool_calls`: content and error."""
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


def _not_storable(what: str, error: Exception) -> StoreError:
    return StoreError("not_storable", f"The {what} cannot be written as JSON: {error}.")
