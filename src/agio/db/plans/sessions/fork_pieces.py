"""Reads a session's runs in stretches and makes the rows of its copy, with new ids."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TypeAlias, TypeVar

from msgspec import Struct

from agio.core.store.repository import RunInfo
from agio.db.packing import LogRow, pack
from agio.db.plan import Events, Plan, Rows, ask
from agio.db.plans.sessions.fork_source import NOBODY, Fork
from agio.db.records import now_ms
from agio.db.refusals import session_not_found
from agio.db.rows import BlobRow, Columns, as_row

STRETCH_BYTES = 128 * 1024
"""How much of the log is read and copied at a time."""
_STRETCH_RUNS = 64

Filled: TypeAlias = tuple[str, Mapping[str, object]]
"""A named query and its values."""


class _OfRun(Columns, frozen=True):
    run_id: str


R = TypeVar("R", bound="_OfRun | LogRow")


class _Turn(_OfRun, frozen=True):
    seq: int
    step: int
    record: bytes


class _Tool(_OfRun, frozen=True):
    key: str
    tool: str
    effect: str
    state: str
    content: bytes | None
    error: str | None
    started_at: int
    ended_at: int | None


class _Question(_OfRun, frozen=True):
    id: str
    tool_call_id: str
    tool: str
    arguments: str
    message: str
    state: str
    created_at: int
    expires_at: int
    closed_at: int | None
    closed_by: str | None
    input: str | None


class _Message(_OfRun, frozen=True):
    id: str
    idx: int
    pos: int
    role: str
    message: bytes
    created_at: int


class Stretch(Struct, frozen=True, kw_only=True):
    """Consecutive runs with their rows. A long run is alone, and without its log."""

    runs: Sequence[RunInfo]
    logs: dict[str, bytes]
    """The runs' events, by run."""
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
        """The last event of the piece."""
        return self.after + self.payload.count(b"\n")


def is_long(fork: Fork, run: RunInfo) -> bool:
    """Whether a run's log is copied in pieces."""
    return fork.log_bytes.get(run.run_id, 0) > STRETCH_BYTES


def stretches(fork: Fork) -> Iterator[Sequence[RunInfo]]:
    """Split the runs of a fork into stretches."""
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
    """Read the rows of runs. Raises UserError `session_not_found` if they were deleted."""
    place = {"session_id": fork.source, "first_pos": runs[0].first_pos, "last_pos": runs[-1].first_pos}
    logs: Rows = () if is_long(fork, runs[0]) else (yield from ask("logs_between", **place))
    turns = yield from ask("turns_between", **place)
    tools = yield from ask("tools_between", **place)
    questions = yield from ask("interrupts_between", **place)
    last_pos = runs[-1].first_pos + runs[-1].last_seq
    messages = yield from ask("messages_between", **{**place, "last_pos": last_pos})
    ours = {run.run_id for run in runs}  # a run without events has the position of the next run
    stretch = Stretch(
        runs=runs,
        logs=_joined(_rows_of(ours, LogRow, logs)),
        turns=_rows_of(ours, _Turn, turns),
        tools=_rows_of(ours, _Tool, tools),
        questions=_rows_of(ours, _Question, questions),
        messages=_rows_of(ours, _Message, messages),
    )
    found = sum(lines.count(b"\n") for lines in stretch.logs.values())
    if not is_long(fork, runs[0]) and found != sum(run.last_seq for run in runs):
        raise session_not_found(fork.source)
    return stretch


def read_piece(fork: Fork, run: RunInfo, after: int) -> Plan[Piece]:
    """Read events of a long run. Raises UserError `session_not_found` if it was deleted."""
    found = yield Events(run.run_id, after, run.last_seq, STRETCH_BYTES)
    payload = b"".join(as_row(BlobRow, row).data for row in found)
    if not payload:
        raise session_not_found(fork.source)
    return Piece(run, after, payload)


def piece_rows(fork: Fork, piece: Piece) -> list[Filled]:
    """The rows of the copy that have these events."""
    return _log(fork, piece.run.run_id, piece.after + 1, piece.payload)


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
                "first_pos": fork.first_pos[run.run_id],
                "parent_run_id": None if run.parent_run_id is None else copied(run.parent_run_id),
            },
        )
        for run in stretch.runs
    ]
    for run_id, lines in stretch.logs.items():
        rows += _log(fork, run_id, 1, lines)
    rows += [_turn(fork, row) for row in stretch.turns]
    rows += [_tool(fork, row) for row in stretch.tools]
    ours, now = {run.run_id for run in fork.runs}, now_ms()
    rows += [_question(fork, row, ours, now) for row in stretch.questions]
    moved = {run.run_id: fork.first_pos[run.run_id] - run.first_pos for run in stretch.runs}
    rows += [_message(fork, row, moved[row.run_id]) for row in stretch.messages]
    return rows


def _rows_of(runs: set[str], kind: type[R], rows: Rows) -> list[R]:
    named = (as_row(kind, row) for row in rows)
    return [row for row in named if row.run_id in runs]


def _joined(logs: Sequence[LogRow]) -> dict[str, bytes]:
    """Each run's log in one piece. Raises DamagedLog."""
    whole: dict[str, list[bytes]] = {}
    for log in sorted(logs, key=attrgetter("first_seq")):
        whole.setdefault(log.run_id, []).append(log.lines)
    return {run_id: b"".join(parts) for run_id, parts in whole.items()}


def _log(fork: Fork, run_id: str, first_seq: int, lines: bytes) -> list[Filled]:
    run, last_seq = fork.names.renamed_id(run_id), first_seq + lines.count(b"\n") - 1
    return [("put_log", values) for values in pack(run, first_seq, last_seq, fork.names.renamed(lines))]


def _turn(fork: Fork, row: _Turn) -> Filled:
    names = fork.names
    ours, vendor, theirs = row.record.partition(b'"vendor":')  # the vendor's items are sent back unchanged
    return "put_turn", {
        "run_id": names.renamed_id(row.run_id),
        "seq": row.seq,
        "step": row.step,
        "record": names.renamed(ours) + vendor + theirs,
    }


def _tool(fork: Fork, row: _Tool) -> Filled:
    names = fork.names
    return "copy_tool", {
        "run_id": names.renamed_id(row.run_id),
        "key": names.renamed_id(row.key),
        "tool": row.tool,
        "effect": row.effect,
        "state": row.state,
        "content": None if row.content is None else names.renamed(row.content),
        "error": row.error,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
    }


def _question(fork: Fork, row: _Question, copied: set[str], now: int) -> Filled:
    names = fork.names
    by = row.closed_by
    return "copy_interrupt", {
        "fork_id": fork.id,
        "id": names.renamed_id(row.id),
        "run_id": names.renamed_id(row.run_id),
        "tool_call_id": names.renamed_id(row.tool_call_id),
        "tool": row.tool,
        "arguments": row.arguments,
        "message": row.message,
        "state": row.state,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "closed_at": row.closed_at,
        "closed_by": names.renamed_id(by) if by is not None and by in copied else None,
        "input": row.input,
        "now": now,
    }


def _message(fork: Fork, row: _Message, moved: int) -> Filled:
    names = fork.names
    return "copy_message", {
        "fork_id": fork.id,
        "id": names.renamed_id(row.id),
        "run_id": names.renamed_id(row.run_id),
        "idx": row.idx,
        "pos": row.pos + moved,
        "role": row.role,
        "message": names.renamed(row.message),
        "created_at": row.created_at,
    }
