"""A session's runs, read a stretch at a time, as rows of its copy: what names something copied names the copy."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias

import msgspec
from msgspec import Struct

from agio.core.store.repository import RunInfo
from agio.db.plan import Events, Plan, Rows, ask
from agio.db.plans.sessions.fork_source import NOBODY, Fork
from agio.db.records import now_ms
from agio.db.refusals import session_not_found

STRETCH_BYTES = 128 * 1024
"""How much of the log is read and copied at a time."""
_STRETCH_RUNS = 64

Filled: TypeAlias = tuple[str, Mapping[str, object]]
"""A named query and its values."""
_Turn: TypeAlias = tuple[str, int, int, bytes]
_Tool: TypeAlias = tuple[str, str, str, str, str, bytes | None, str | None, int, int | None]
_Question: TypeAlias = tuple[str, str, str, str, str, str, str, int, int, int | None, str | None]
_Message: TypeAlias = tuple[str, str, int, int, str, bytes, int]
_Log: TypeAlias = tuple[str, int, int, bytes]


class Stretch(Struct, frozen=True, kw_only=True):
    """Runs that follow each other, and what there is of them. A long run is alone, and its log is not here."""

    runs: Sequence[RunInfo]
    logs: list[_Log]
    turns: list[_Turn]
    tools: list[_Tool]
    questions: list[_Question]
    messages: list[_Message]


class Piece(Struct, frozen=True):
    """Events of a long run, after event `after`."""

    run: RunInfo
    after: int
    payload: bytes

    @property
    def last_seq(self) -> int:
        """The last of them."""
        return self.after + self.payload.count(b"\n")


def is_long(fork: Fork, run: RunInfo) -> bool:
    """Whether a run's log is copied in pieces."""
    return fork.log_bytes.get(run.run_id, 0) > STRETCH_BYTES


def stretches(fork: Fork) -> Iterator[Sequence[RunInfo]]:
    """The runs of a fork, parted into what is copied together."""
    runs: list[RunInfo] = []
    size = 0
    for run in fork.runs:
        more = fork.log_bytes.get(run.run_id, 0)
        if runs and (size + more > STRETCH_BYTES or len(runs) == _STRETCH_RUNS):
            yield runs
            runs, size = [], 0
        runs.append(run)
        size += more
    if runs:
        yield runs


def read_stretch(fork: Fork, runs: Sequence[RunInfo]) -> Plan[Stretch]:
    """Read what there is of runs. Raises UserError `session_not_found` if they were deleted."""
    place = {"session_id": fork.source, "first_pos": runs[0].first_pos, "last_pos": runs[-1].first_pos}
    logs: Rows = () if is_long(fork, runs[0]) else (yield from ask("logs_between", **place))
    turns = yield from ask("turns_between", **place)
    tools = yield from ask("tools_between", **place)
    questions = yield from ask("interrupts_between", **place)
    last_pos = runs[-1].first_pos + runs[-1].last_seq
    messages = yield from ask("messages_between", **{**place, "last_pos": last_pos})
    ours = {run.run_id for run in runs}  # one without events is where the next one is
    stretch = Stretch(
        runs=runs,
        logs=[row for row in msgspec.convert(logs, list[_Log]) if row[0] in ours],
        turns=[row for row in msgspec.convert(turns, list[_Turn]) if row[0] in ours],
        tools=[row for row in msgspec.convert(tools, list[_Tool]) if row[0] in ours],
        questions=[row for row in msgspec.convert(questions, list[_Question]) if row[0] in ours],
        messages=[row for row in msgspec.convert(messages, list[_Message]) if row[0] in ours],
    )
    found = sum(last - first + 1 for _, first, last, _ in stretch.logs)
    if not is_long(fork, runs[0]) and found != sum(run.last_seq for run in runs):
        raise session_not_found(fork.source)
    return stretch


def read_piece(fork: Fork, run: RunInfo, after: int) -> Plan[Piece]:
    """Read events of a long run. Raises UserError `session_not_found` if it was deleted."""
    found = yield Events(run.run_id, after, run.last_seq, STRETCH_BYTES)
    payload = b"".join(part for (part,) in msgspec.convert(found, list[tuple[bytes]]))
    if not payload:
        raise session_not_found(fork.source)
    return Piece(run, after, payload)


def piece_row(fork: Fork, piece: Piece) -> Filled:
    """The row of the copy that has these events."""
    return _log_row(fork, piece.run.run_id, piece.after + 1, piece.last_seq, piece.payload)


def stretch_rows(fork: Fork, stretch: Stretch) -> list[Filled]:
    """The rows of the copy, in an order in which they can be written."""
    copied = fork.names.renamed_id
    rows: list[Filled] = [
        (
            "copy_run",
            {
                "run_id": run.run_id,
                "new_run_id": copied(run.run_id),
                "fork_id": fork.id,
                "nobody": NOBODY,
                "token_hash": b"",
            },
        )
        for run in stretch.runs
    ]
    rows += _logs(fork, stretch.logs)
    rows += [_turn(fork, row) for row in stretch.turns]
    rows += [_tool(fork, row) for row in stretch.tools]
    ours, now = {run.run_id for run in fork.runs}, now_ms()
    rows += [_question(fork, row, ours, now) for row in stretch.questions]
    rows += [_message(fork, row) for row in stretch.messages]
    return rows


def _logs(fork: Fork, logs: Sequence[_Log]) -> list[Filled]:
    """Each run's log in one row, whatever number it had."""
    whole: dict[str, list[_Log]] = {}
    for row in sorted(logs, key=itemgetter(1)):
        whole.setdefault(row[0], []).append(row)
    return [
        _log_row(fork, run_id, parts[0][1], parts[-1][2], b"".join(part[3] for part in parts))
        for run_id, parts in whole.items()
    ]


def _log_row(fork: Fork, run_id: str, first_seq: int, last_seq: int, payload: bytes) -> Filled:
    names = fork.names
    return "copy_log", {
        "run_id": names.renamed_id(run_id),
        "first_seq": first_seq,
        "last_seq": last_seq,
        "payload": names.renamed(payload),
    }


def _turn(fork: Fork, row: _Turn) -> Filled:
    names = fork.names
    run_id, seq, step, record = row
    ours, vendor, theirs = record.partition(b'"vendor":')  # the vendor wants its own back as it was
    return "put_turn", {
        "run_id": names.renamed_id(run_id),
        "seq": seq,
        "step": step,
        "record": names.renamed(ours) + vendor + theirs,
    }


def _tool(fork: Fork, row: _Tool) -> Filled:
    names = fork.names
    run_id, key, tool, effect, state, content, error, started_at, ended_at = row
    return "copy_tool", {
        "run_id": names.renamed_id(run_id),
        "key": names.renamed_id(key),
        "tool": tool,
        "effect": effect,
        "state": state,
        "content": None if content is None else names.renamed(content),
        "error": error,
        "started_at": started_at,
        "ended_at": ended_at,
    }


def _question(fork: Fork, row: _Question, copied: set[str], now: int) -> Filled:
    names = fork.names
    run_id, asked, call, tool, arguments, message, state, created_at, expires_at, closed_at, by = row
    return "copy_interrupt", {
        "fork_id": fork.id,
        "id": names.renamed_id(asked),
        "run_id": names.renamed_id(run_id),
        "tool_call_id": names.renamed_id(call),
        "tool": tool,
        "arguments": arguments,
        "message": message,
        "state": state,
        "created_at": created_at,
        "expires_at": expires_at,
        "closed_at": closed_at,
        "closed_by": names.renamed_id(by) if by is not None and by in copied else None,
        "now": now,
    }


def _message(fork: Fork, row: _Message) -> Filled:
    names = fork.names
    run_id, message_id, idx, pos, role, message, created_at = row
    return "copy_message", {
        "fork_id": fork.id,
        "id": names.renamed_id(message_id),
        "run_id": names.renamed_id(run_id),
        "idx": idx,
        "pos": pos,
        "role": role,
        "message": names.renamed(message),
        "created_at": created_at,
    }
