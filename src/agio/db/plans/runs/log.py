"""Reads of runs and their logs, also while they are written."""

import msgspec

from agio.core.store.records import EventSlice, Page, ToolExecution
from agio.core.store.repository import InterruptState, RunInfo, RunLog
from agio.db.cursors import page_of, page_size, read_cursor
from agio.db.plan import Events, Head, Plan, Row, Rows, ask, ask_one
from agio.db.records import run_info, run_of, turn_record
from agio.db.refusals import run_not_found, session_not_found
from agio.db.rows import BlobRow, HeadRow, RunRow, as_row, to_struct
from agio.protocol.events import AgentEvent

BEYOND_ALL = 1 << 62
"""More than any number or position."""
PAGE_RUNS = 20
"""How many runs of a session one query reads."""
_QUESTIONS: list[InterruptState] = ["open", "resolved", "cancelled", "expired"]
"""In order of precedence: a run with questions in several states is shown with the first of them."""


def get_run(run_id: str) -> Plan[RunInfo]:
    """Raises UserError `run_not_found`."""
    row = yield from ask_one("get_run", run_id=run_id)
    return (yield from _known(row, run_id))


def find_run(tenant: str, user: str | None, run_id: str) -> Plan[RunInfo]:
    """A run of a user, or of the tenant for None. Raises UserError `run_not_found`."""
    if user is None:
        row = yield from ask_one("find_run_of_tenant", tenant=tenant, run_id=run_id)
    else:
        row = yield from ask_one("find_run", tenant=tenant, user_id=user, run_id=run_id)
    return (yield from _known(row, run_id))


def show_run(tenant: str, user: str | None, run_id: str) -> Plan[RunInfo]:
    """As `find_run`, with the user's name and the state of its questions."""
    info = yield from find_run(tenant, user, run_id)
    return (yield from _named(tenant, [info]))[0]


def find_alias(tenant: str, user: str, session_id: str, alias: str) -> Plan[RunInfo | None]:
    """The run an AG-UI client began with this run id."""
    row = yield from ask_one("find_alias", tenant=tenant, user_id=user, session_id=session_id, alias=alias)
    return None if row is None else (yield from current(run_info(row)))


def current(info: RunInfo) -> Plan[RunInfo]:
    """A run as of now: while it runs, its row may be behind its log."""
    if info.status != "running":
        return info
    head = yield Head(info.run_id)
    if not head:  # the run has ended since, or its row is current
        row = yield from ask_one("get_run", run_id=info.run_id)
        return info if row is None else run_info(row)
    now = as_row(HeadRow, head[0])
    return msgspec.structs.replace(info, epoch=now.epoch, last_seq=now.last_seq)


def all_current(rows: Rows) -> Plan[list[RunInfo]]:
    """The runs of rows as of now."""
    found: list[RunInfo] = []
    for row in rows:
        info = yield from current(run_info(row))
        found.append(info)
    return found


def get_log(run_id: str, after: int = 0) -> Plan[RunLog]:
    """The log after event `after`. Raises UserError `run_not_found`."""
    return (yield from log_of((yield from get_run(run_id)), after))


def get_events(run_id: str, after: int = 0) -> Plan[list[AgentEvent]]:
    """The events after `after`, as they were streamed. Raises UserError `run_not_found`."""
    return (yield from get_log(run_id, after)).events()


def list_runs(
    *, session_id: str | None = None, agent: str | None = None, before: str | None = None, limit: int = 50
) -> Plan[list[RunInfo]]:
    """Runs, newest first. Raises UserError `run_not_found` if there is no run `before`."""
    place: object = BEYOND_ALL
    if before is not None:
        found = yield from ask_one("place_of_run", run_id=before)
        if found is None:
            raise run_not_found(before)
        place = found[0]
    page = {"before": place, "limit": max(limit, 0)}
    if session_id is not None and agent is not None:
        rows = yield from ask("list_runs_of_session_and_agent", session_id=session_id, agent=agent, **page)
    elif session_id is not None:
        rows = yield from ask("list_runs_of_session", session_id=session_id, **page)
    elif agent is not None:
        rows = yield from ask("list_runs_of_agent", agent=agent, **page)
    else:
        rows = yield from ask("list_runs", **page)
    return (yield from all_current(rows))


def find_runs(
    tenant: str,
    user: str | None,
    *,
    session_id: str | None = None,
    agent_id: str | None = None,
    status: str | None = None,
    since: int | None = None,
    until: int | None = None,
    copies: bool | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Plan[Page[RunInfo]]:
    """A user's runs, or the tenant's for None, newest first. Raises UserError `invalid_cursor`.

    `copies`: whether to list runs that were copied with their session; None: only in the list of a session.
    """
    before_at, before = (BEYOND_ALL, BEYOND_ALL) if after is None else read_cursor(after, tuple[int, int])
    values: dict[str, object] = {
        "tenant": tenant,
        "agent_id": agent_id,
        "status": status,
        "since": 0 if since is None else since,
        "upto": before_at if until is None else min(until - 1, before_at),
        "before_at": before_at,
        "before": before,
        "copies": session_id is not None if copies is None else copies,
        "limit": page_size(limit) + 1,
    }
    if session_id is not None:
        rows = yield from ask("find_runs_of_session", session_id=session_id, user_id=user, **values)
    elif status in ("queued", "running"):
        rows = yield from ask("find_runs_going_on", user_id=user, **values)
    elif status not in (None, "completed"):
        rows = yield from ask("find_runs_ended_badly", user_id=user, **values)
    elif user is None:
        rows = yield from ask("find_runs_of_tenant", **values)
    else:
        rows = yield from ask("find_runs", user_id=user, **values)
    page = page_of(rows, limit, lambda row: row, _place)
    found = yield from all_current(page.items)
    return Page((yield from _named(tenant, found)), page.next)


def running_runs() -> Plan[list[RunInfo]]:
    """Every running run of every tenant, oldest first, with its worker."""
    return (yield from all_current((yield from ask("running_runs"))))


def count_runs() -> Plan[dict[str, int]]:
    """How many runs are queued and running, over all tenants."""
    row = yield from ask_one("count_all")
    queued, running = msgspec.convert(row, tuple[int, int])
    return {"queued": queued, "running": running}


def read_run(run_id: str, after: int, limit_bytes: int) -> Plan[EventSlice]:
    """A run's events after seq `after`; `first_pos` is the session's. Raises UserError `run_not_found`."""
    return (yield from _chunk((yield from get_run(run_id)), max(after, 0), limit_bytes))


def read_session(session_id: str, after: int, limit_bytes: int) -> Plan[list[EventSlice]]:
    """The session's events after position `after`, oldest first, about `limit_bytes` of them."""
    row = yield from ask_one("run_at", session_id=session_id, pos=after)
    first_pos, number = -1 if row is None else as_row(RunRow, row).first_pos, 0
    chunks: list[EventSlice] = []
    left = max(limit_bytes, 1)
    while left > 0:
        rows = yield from ask(
            "runs_from", session_id=session_id, first_pos=first_pos, number=number, limit=PAGE_RUNS
        )
        for row in rows:
            run = as_row(RunRow, row)
            info = yield from current(run_of(run))
            chunk = yield from _chunk(info, max(after - info.first_pos, 0), left)
            first_pos, number = run.first_pos, run.number
            if chunk.count:
                chunks.append(chunk)
                left -= len(chunk.payload)
            if left <= 0 or chunk.last_pos < info.first_pos + info.last_seq:
                return chunks
        if len(rows) < PAGE_RUNS:
            break
    return chunks


def list_tool_executions(
    tenant: str, user: str | None, run_id: str, *, after: str | None = None, limit: int = 200
) -> Plan[Page[ToolExecution]]:
    """What tools a run called, in order; `user` as in `find_run`.

    Raises UserError `run_not_found`, `invalid_cursor`.
    """
    yield from find_run(tenant, user, run_id)
    started_at, key = (-1, "") if after is None else read_cursor(after, tuple[int, str])
    rows = yield from ask(
        "list_tool_executions",
        tenant=tenant,
        user_id=user,
        run_id=run_id,
        started_at=started_at,
        key=key,
        limit=page_size(limit) + 1,
    )
    found = [to_struct(ToolExecution, row) for row in rows]
    return page_of(found, limit, lambda call: call, lambda call: (call.started_at, call.key))


def check_session(tenant: str, user: str, session_id: str) -> Plan[None]:
    """Raises UserError `session_not_found`."""
    if (yield from ask_one("own_session", tenant=tenant, user_id=user, session_id=session_id)) is None:
        raise session_not_found(session_id)


def _known(row: Row | None, run_id: str) -> Plan[RunInfo]:
    if row is None:
        raise run_not_found(run_id)
    return (yield from current(run_info(row)))


def _named(tenant: str, runs: list[RunInfo]) -> Plan[list[RunInfo]]:
    """Add the names of users and the states of questions."""
    users = sorted({info.user for info in runs})
    rows: Rows = (yield from ask("names_of_users", tenant=tenant, user_ids=users)) if users else []
    names = dict(msgspec.convert(rows, list[tuple[str, str]]))
    questions = yield from _questions(tenant, runs)
    return [
        msgspec.structs.replace(info, user_name=names.get(info.user, ""), question=questions.get(info.run_id))
        for info in runs
    ]


def _questions(tenant: str, runs: list[RunInfo]) -> Plan[dict[str, InterruptState]]:
    """The states of runs' questions, by run."""
    asking = [info.run_id for info in runs if info.status == "interrupted"]
    rows: Rows = (yield from ask("questions_of_runs", tenant=tenant, run_ids=asking)) if asking else []
    states: dict[str, InterruptState] = {}
    for run_id, state in msgspec.convert(rows, list[tuple[str, InterruptState]]):
        states[run_id] = min(states.get(run_id, state), state, key=_QUESTIONS.index)
    return states


def log_of(info: RunInfo, after: int) -> Plan[RunLog]:
    """The log of a run after event `after`."""
    payload = yield from _payload(Events(info.run_id, after, info.last_seq))
    rows = yield from ask("read_turns", run_id=info.run_id, after=after, upto=info.last_seq)
    return RunLog(info, payload, [turn_record(as_row(BlobRow, row).data) for row in rows])


def _chunk(info: RunInfo, after: int, limit_bytes: int) -> Plan[EventSlice]:
    payload = yield from _payload(Events(info.run_id, after, info.last_seq, limit_bytes))
    return EventSlice(info.run_id, info.first_pos + after + 1, payload.count(b"\n"), payload)


def _payload(asked: Events) -> Plan[bytes]:
    if asked.after >= asked.upto:
        return b""
    rows = yield asked
    return b"".join(as_row(BlobRow, row).data for row in rows)


def _place(row: Row) -> tuple[int, int]:
    """A run's place in lists, newest first."""
    run = as_row(RunRow, row)
    return run.created_at, run.number
