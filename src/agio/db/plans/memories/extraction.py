"""Extraction: what is new in a session, and the proposals that a model makes of it, in one commit with its job."""

import msgspec
from msgspec import structs

from agio.core.memory import Extracted, SaidMessage, SessionToExtract, asks_to_remember
from agio.core.passage import FoundText, Passage, PassageQuery
from agio.core.store.jobs import Completion
from agio.core.store.records import AgentRecord
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.agents.agents import agent_of_run
from agio.db.plans.jobs.jobs import arm_extraction, finish_job
from agio.db.plans.memories.memories import add_memory, message_place
from agio.db.plans.memories.passages import find_passages
from agio.db.plans.memories.suggestions import suggest_all
from agio.db.plans.runs.log import check_session
from agio.db.records import now_ms
from agio.db.rows import Columns, as_row, to_struct
from agio.db.search.message_text import said
from agio.errors import LimitExceeded, UserError

_INDEXED_CHARS = 20_000
DAY_MS = 24 * 3600 * 1000
IDLE_MS = 60_000


class _State(Columns, frozen=True):
    tenant: str
    user: str
    closed_at: int | None
    agent_id: str


class _Message(Columns, frozen=True):
    id: str
    role: str
    message: bytes
    run_id: str
    created_at: int


class _Run(Columns, frozen=True):
    run_id: str
    status: str
    goal_met: int | None
    ended_at: int


def close_session(tenant: str, user: str, session_id: str) -> Plan[bool]:
    """Close a session. Raises UserError `session_not_found`, `session_busy`."""
    yield from check_session(tenant, user, session_id)
    active = yield from ask("active_runs", tenant=tenant, user_id=user, session_id=session_id)
    if active:
        raise UserError("session_busy", "A run of this session has not ended. Wait for it, or cancel it.")
    place = {"tenant": tenant, "user_id": user, "session_id": session_id}
    closed = yield from ask_one("close_agent_session", now=now_ms(), **place)
    if closed is not None:
        yield from arm_extraction(session_id, 0)
    return closed is not None


def session_to_extract(session_id: str) -> Plan[SessionToExtract | None]:
    """What is new in a session, None if it is gone."""
    row = yield from ask_one("extraction_state", session_id=session_id)
    if row is None:
        return None
    state, now = as_row(_State, row), now_ms()
    agent = yield from agent_of_run(state.tenant, state.agent_id)
    runs = [as_row(_Run, each) for each in (yield from ask("runs_to_extract", session_id=session_id))]
    messages = (yield from _messages(session_id)) if runs else []
    new = {run.run_id for run in runs}
    asked = any(
        message.role == "user" and message.run_id in new and asks_to_remember(message.text)
        for message in messages
    )
    spent = yield from ask_one("spent_on_extraction", tenant=state.tenant, day=now // DAY_MS)
    tokens, cost = (0, 0.0) if spent is None else msgspec.convert(spent, tuple[int, float])
    last = max((run.ended_at for run in runs), default=0)
    return SessionToExtract(
        session_id=session_id,
        tenant=state.tenant,
        user=state.user,
        agent=agent,
        run_ids=[run.run_id for run in runs],
        messages=messages,
        observed_at=last,
        idle_ms=now - last,
        is_ended=asked
        or state.closed_at is not None
        or any(run.status == "cancelled" or run.goal_met for run in runs if run.ended_at == last),
        spent_tokens=tokens,
        spent_cost=cost,
    )


def find_session_agent(session_id: str) -> Plan[AgentRecord | None]:
    """The agent of a session."""
    row = yield from ask_one("extraction_state", session_id=session_id)
    if row is None:
        return None
    state = as_row(_State, row)
    return (yield from agent_of_run(state.tenant, state.agent_id))


def waits_for_extraction(session_id: str) -> Plan[bool]:
    """Whether an ended run of a session was not extracted yet."""
    return bool((yield from ask("runs_to_extract", session_id=session_id)))


def sessions_of_agent(tenant: str, agent_id: str, after: str, limit: int) -> Plan[list[str]]:
    """The ids of an agent's sessions after one."""
    rows = yield from ask("sessions_of_agent", tenant=tenant, agent_id=agent_id, after=after, limit=limit)
    return [str(row[0]) for row in rows]


def session_passages(session_id: str) -> Plan[list[Passage]]:
    """What was said in a session, to index it."""
    row = yield from ask_one("extraction_state", session_id=session_id)
    if row is None:
        return []
    state = as_row(_State, row)
    place = message_place(state.tenant, state.user)
    messages = yield from _messages(session_id)
    return [
        Passage(
            place=place,
            kind="message",
            item_id=f"{session_id}/{message.id}",
            text=message.text[:_INDEXED_CHARS],
            at=message.created_at,
        )
        for message in messages
        if message.text.strip()
    ]


def find_said(tenant: str, user: str, query: PassageQuery, without: str = "") -> Plan[list[FoundText]]:
    """The indexed messages of a user that fit a search, without those of one session."""
    wide = structs.replace(query, limit=query.limit * 4)
    found = yield from find_passages(tenant, [message_place(tenant, user)], wide)
    ids = [each.item_id for each in found if not (without and each.item_id.startswith(f"{without}/"))]
    ids = ids[: query.limit]
    rows = yield from ask("passages_of_items", tenant=tenant, kind="message", ids=ids)
    texts = {text.item_id: text for text in (to_struct(FoundText, row) for row in rows)}
    return [texts[item_id] for item_id in ids if item_id in texts]


def _messages(session_id: str) -> Plan[list[SaidMessage]]:
    rows = yield from ask("messages_to_extract", session_id=session_id)
    found = [as_row(_Message, row) for row in rows]
    return [
        SaidMessage(
            id=row.id,
            role=row.role,
            text=said(row.message) or "",
            run_id=row.run_id,
            created_at=row.created_at,
        )
        for row in found
    ]


def keep_extraction(given: Extracted, *, job: Completion | None = None) -> Plan[int]:
    """Add proposals, mark the runs and complete the job. Returns the number of new proposals."""
    made = yield from _keep(given)
    if job is not None and (
        yield from ask("runs_to_extract", session_id=given.session_id)
    ):  # one that ended meanwhile
        job = structs.replace(job, again_ms=IDLE_MS)
    yield from finish_job(job)
    return made


def _keep(given: Extracted) -> Plan[int]:
    yield from spend_extraction(given.tenant, given.tokens, given.cost)
    row = yield from ask_one("extraction_state", session_id=given.session_id)
    if row is None:
        return 0
    state = as_row(_State, row)
    now = now_ms()
    marked = 0
    for run_id in given.run_ids:
        marked += (yield from ask_one("mark_extracted", run_id=run_id, now=now)) is not None
    member = yield from ask_one("get_user", tenant=state.tenant, user_id=state.user)
    if marked < len(given.run_ids) or member is None:  # another job was faster, or the person left
        return 0
    try:
        if not given.automatic:
            return (yield from suggest_all(state.tenant, state.user, state.agent_id, given.proposals))
        for fields, source in given.proposals:
            yield from add_memory(state.tenant, state.user, state.agent_id, fields, source, automatic=True)
    except LimitExceeded:
        return 0
    except UserError as error:  # the agent was deleted meanwhile
        if error.code != "agent_not_found":
            raise
        return 0
    return len(given.proposals)


def spend_extraction(tenant: str, tokens: int, cost: float) -> Plan[None]:
    """Add to what a tenant spent today."""
    if tokens or cost:
        yield from ask("spend_on_extraction", tenant=tenant, day=now_ms() // DAY_MS, tokens=tokens, cost=cost)
