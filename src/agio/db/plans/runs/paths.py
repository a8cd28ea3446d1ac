"""Paths: the runs that lead to a run. A session's runs form a tree; without branches a path is read by position."""

from collections.abc import Iterator

from msgspec import Struct

from agio.core.store.records import Alternative, Branch
from agio.core.store.repository import RunInfo, RunLog
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.runs.log import PAGE_RUNS, current, log_of
from agio.db.records import run_of
from agio.db.rows import Columns, RunRow, as_row

_STEP = b'"type":"STEP_STARTED"'


class SessionHead(Columns, frozen=True):
    """`head_columns`: the newest run of a session that has begun, and the run that the next message continues."""

    run_id: str | None
    first_pos: int
    last_seq: int
    branched: int
    log_level: int
    leaf_run_id: str | None
    active_agent: str

    @property
    def last_pos(self) -> int:
        """The position of the session's last event, if no run is running."""
        return self.first_pos + self.last_seq


EMPTY_HEAD = SessionHead(None, 0, 0, 0, 1, None, "")


class RunPlace(Struct, frozen=True):
    """The place of a run that begins: its position in the session's stream, and its parent."""

    first_pos: int
    parent_run_id: str | None
    parent_seq: int | None
    branched: bool
    """Whether the runs before it are not just the session's earlier ones."""
    is_branch: bool
    """Whether it continues another run than the newest."""
    active_agent: str = ""
    """The agent to which the conversation was handed over before; empty: the session's."""

    @property
    def columns(self) -> dict[str, object]:
        """The values of its columns."""
        return {
            "first_pos": self.first_pos,
            "parent_run_id": self.parent_run_id,
            "parent_seq": self.parent_seq,
            "branched": int(self.branched),
            "active_agent": self.active_agent,
        }


def session_head(session_id: str) -> Plan[SessionHead]:
    """The head of a session."""
    row = yield from ask_one("session_head", session_id=session_id)
    return EMPTY_HEAD if row is None else as_row(SessionHead, row)


def place_run(session_id: str, head: SessionHead, given: str | None) -> Plan[RunPlace]:
    """Place a run that begins after all others. `given` is its parent: "" for none, None for the session's leaf.

    The run becomes the session's leaf.
    """
    parent = head.leaf_run_id or head.run_id if given is None else given or None
    seq = head.last_seq if parent is not None else None
    is_branch = parent != head.run_id
    active_agent = head.active_agent if parent is not None else ""
    if is_branch and parent is not None:
        row = yield from ask_one("get_run", run_id=parent)
        run = None if row is None else as_row(RunRow, row)
        seq, active_agent = (None, "") if run is None else (run.last_seq, run.active_agent)
    if head.leaf_run_id is not None:
        yield from ask("move_leaf", session_id=session_id, leaf=None)
    return RunPlace(head.last_pos, parent, seq, is_branch or bool(head.branched), is_branch, active_agent)


def history(run: RunInfo, enough: int) -> Plan[list[RunLog]]:
    """The logs of the newest runs before a run on its path that have `enough` messages together, oldest first.

    A run that wrote a summary needs only some of the messages before it.
    """
    logs: list[RunLog] = []
    messages = 0
    first_pos, number = run.first_pos, 0
    if run.branched:
        path = yield from _branched(run.session_id, run.parent_run_id)
        for earlier in path:
            if messages > enough:
                return logs[::-1]
            logs.append((yield from log_of((yield from current(run_of(earlier))), 0)))
            messages += _count(logs[-1])
            enough = _enough(enough, messages, earlier)
        if not path or path[-1].branched:
            return logs[::-1]
        first_pos, number = path[-1].first_pos, path[-1].number
    while messages <= enough:
        rows = yield from ask(
            "runs_before", session_id=run.session_id, first_pos=first_pos, number=number, limit=PAGE_RUNS
        )
        for row in rows:
            earlier = as_row(RunRow, row)
            logs.append((yield from log_of((yield from current(run_of(earlier))), 0)))
            messages += _count(logs[-1])
            enough = _enough(enough, messages, earlier)
            first_pos, number = earlier.first_pos, earlier.number
            if messages > enough:
                break
        if len(rows) < PAGE_RUNS:
            break
    return logs[::-1]


def _enough(enough: int, messages: int, run: RunRow) -> int:
    return enough if run.needed is None else min(enough, messages + run.needed - 1)


def path_of(session_id: str, leaf: str | None) -> Plan[list[RunInfo]]:
    """The runs from the first up to `leaf`, oldest first."""
    path = yield from _branched(session_id, leaf)
    runs = [run_of(row) for row in path]
    first_pos, number = (path[-1].first_pos, path[-1].number) if path else (0, 0)
    while path and not path[-1].branched:
        rows = yield from ask(
            "runs_before", session_id=session_id, first_pos=first_pos, number=number, limit=PAGE_RUNS
        )
        earlier = [as_row(RunRow, row) for row in rows]
        runs += map(run_of, earlier)
        if len(rows) < PAGE_RUNS:
            break
        first_pos, number = earlier[-1].first_pos, earlier[-1].number
    newest = [(yield from current(runs[0]))] if runs else []
    return [*newest, *runs[1:]][::-1]


def branches(session_id: str, leaf: str) -> Plan[list[Branch]]:
    """The runs of the path to `leaf` that have alternatives: other runs that continue the same run."""
    rows = yield from ask("tree_of_session", session_id=session_id)
    parents = {str(run_id): str(parent or "") for run_id, parent in rows}
    children: dict[str, list[str]] = {}
    for run_id, parent in parents.items():
        children.setdefault(parent, []).append(run_id)
    newest: dict[str, str] = {}
    for run_id in reversed(parents):
        for above in _up(run_id, parents):
            if newest.setdefault(above, run_id) != run_id:
                break
    return [
        Branch(run_id, [Alternative(other, newest[other]) for other in children[parents[run_id]]])
        for run_id in reversed(list(_up(leaf, parents)))
        if len(children[parents[run_id]]) > 1
    ]


def _up(run_id: str, parents: dict[str, str]) -> Iterator[str]:
    while run_id in parents:
        yield run_id
        run_id = parents[run_id]


def _branched(session_id: str, leaf: str | None) -> Plan[list[RunRow]]:
    """The path to a run, newest first, back to the first run before which nothing branched."""
    if leaf is None:
        return []
    return [as_row(RunRow, row) for row in (yield from ask("path_to", session_id=session_id, leaf=leaf))]


def _count(log: RunLog) -> int:
    return 1 + log.payload.count(_STEP)
