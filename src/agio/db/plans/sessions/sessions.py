"""Sessions: a user's conversations with agents, their messages and questions."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from agio.core.store.jobs import Completion
from agio.core.store.records import (
    AgentRecord,
    FoundMessage,
    InterruptRecord,
    MessageRecord,
    OnBusy,
    Page,
    SessionRecord,
    SessionStart,
)
from agio.core.store.repository import RunInfo
from agio.db.cursors import page_of, page_size, read_cursor, write_cursor
from agio.db.plan import Forget, Plan, Row, ask, ask_one
from agio.db.plans.agents.agents import forget_inline_agent, get_agent
from agio.db.plans.jobs.jobs import finish_job
from agio.db.plans.people.identity import KEPT_MS
from agio.db.plans.runs.log import BEYOND_ALL, all_current, check_session, current
from agio.db.plans.runs.paths import session_head
from agio.db.plans.sessions.places import find_places, needle_of
from agio.db.records import message_record, now_ms, run_info, session_record
from agio.db.refusals import agent_inactive, run_not_found, session_not_found
from agio.db.rows import MessagePlace, MessageRow, SessionRow, as_row, to_struct
from agio.errors import UserError
from agio.protocol.ids import new_id


class NewSession(Struct, frozen=True):
    """The generated fields of a new session."""

    id: str
    title: str
    mark: str
    """Delimits untrusted text in the prompts of its runs."""
    now: int


def list_sessions(
    tenant: str,
    user: str,
    *,
    agent_id: str | None = None,
    search: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Plan[Page[SessionRecord]]:
    """A user's sessions, last changed first. Raises UserError `invalid_cursor`.

    `search` is a part of the title or of a message; `found` then has the matching message.
    """
    place = (BEYOND_ALL, "") if after is None else read_cursor(after, tuple[int, str])
    needle = needle_of(search)
    values = {
        "tenant": tenant,
        "user_id": user,
        "updated_at": place[0],
        "session_id": place[1],
        "needle": needle,
        "limit": page_size(limit) + 1,
    }
    if agent_id is None:
        rows = yield from ask("list_sessions", **values)
    else:
        rows = yield from ask("list_sessions_of_agent", agent_id=agent_id, **values)
    sessions = [as_row(SessionRow, row) for row in rows]
    page = page_of(sessions, limit, lambda session: session, lambda session: [session.updated_at, session.id])
    places: dict[str, FoundMessage] = {}
    if needle is not None and page.items:
        places = yield from find_places(tenant, user, [session.id for session in page.items], needle)
    records: list[SessionRecord] = []
    for session in page.items:
        record = yield from _current_session(session)
        records.append(msgspec.structs.replace(record, found=places.get(record.id)))
    return Page(records, page.next)


def start_session(
    tenant: str,
    user: str,
    agent_id: str,
    *,
    title: str = "",
    on_busy: OnBusy = "queue",
    alias: str | None = None,
) -> Plan[SessionRecord]:
    """Add a session. An alias that the user has with this agent returns its session.

    Raises UserError `agent_not_found`, `agent_inactive`, `session_deleted` (of the alias's session).
    """
    start = SessionStart(agent_id=agent_id, alias=alias, title=title, on_busy=on_busy)
    known = yield from session_of_alias(tenant, user, start)
    if known is None:
        new = NewSession(new_id("ses"), title, secrets.token_hex(8), now_ms())
        agent = yield from add_session(tenant, user, start, new)
        known = new.id if agent is not None else (yield from session_of_alias(tenant, user, start))
    return (yield from get_session(tenant, user, known or ""))


def session_of_alias(tenant: str, user: str, start: SessionStart) -> Plan[str | None]:
    """The session that has a start's alias. Raises UserError `session_deleted` if it was deleted."""
    if start.alias is None:
        return None
    row = yield from ask_one(
        "session_of_alias",
        tenant=tenant,
        user_id=user,
        agent_id=start.agent_id,
        alias=start.alias,
        hash=hash_key(start.alias),
        since=now_ms() - KEPT_MS,
    )
    known, is_buried = (None, False) if row is None else row
    if known is None and is_buried:
        raise UserError("session_deleted", "The session of this thread id was deleted. Begin a new one.")
    return None if known is None else str(known)


def add_session(tenant: str, user: str, start: SessionStart, new: NewSession) -> Plan[AgentRecord | None]:
    """Add a session and return its agent; None if another transaction has just taken its alias or id.

    Raises UserError `agent_not_found`, `agent_inactive`.
    """
    agent = yield from get_agent(tenant, start.agent_id)
    if agent.status != "active":
        raise agent_inactive(agent.name)
    added = yield from ask_one(
        "add_session",
        session_id=new.id,
        tenant=tenant,
        user_id=user,
        agent_id=start.agent_id,
        title=new.title,
        on_busy=start.on_busy,
        alias=start.alias,
        mark=new.mark,
        now=new.now,
    )
    return None if added is None else agent


def get_session(tenant: str, user: str, session_id: str) -> Plan[SessionRecord]:
    """Raises UserError `session_not_found`."""
    row = yield from ask_one("get_session", tenant=tenant, user_id=user, session_id=session_id)
    if row is None:
        raise session_not_found(session_id)
    return (yield from _current_session(as_row(SessionRow, row)))


def update_session(
    tenant: str,
    user: str,
    session_id: str,
    *,
    title: str | None = None,
    on_busy: OnBusy | None = None,
    seen_pos: int | None = None,
    leaf_run_id: str | None = None,
) -> Plan[SessionRecord]:
    """Change the fields that are given. Raises UserError `session_not_found`, `run_not_found`, `session_busy`.

    `seen_pos` only grows, up to the session's last position. `updated_at`, the last activity, does not change.
    """
    place = {"tenant": tenant, "user_id": user, "session_id": session_id}
    if leaf_run_id is not None:
        yield from _choose_leaf(place, leaf_run_id)
    if title is not None or on_busy is not None:
        yield from ask("update_session", title=title, on_busy=on_busy, **place)
    if seen_pos is not None:
        there_is = (yield from get_session(tenant, user, session_id)).last_pos
        yield from ask("see_session", seen_pos=min(seen_pos, there_is), **place)
    return (yield from get_session(tenant, user, session_id))


def _choose_leaf(place: Mapping[str, object], run_id: str) -> Plan[None]:
    """Let the session's next message continue a run. Raises as `update_session` does."""
    session_id = str(place["session_id"])
    if (yield from ask_one("lock_session", **place)) is None:
        raise session_not_found(session_id)
    active = yield from ask("active_runs", **place)
    if active:
        raise UserError(
            "session_busy",
            "A run of this session has not ended. Wait for it, or cancel it.",
            {"run_id": run_info(active[0]).run_id},
        )
    yield from check_leaf(session_id, run_id)
    newest = (yield from session_head(session_id)).run_id
    yield from ask("move_leaf", session_id=session_id, leaf=None if run_id == newest else run_id)


def check_leaf(session_id: str, run_id: str) -> Plan[None]:
    """Raise UserError `run_not_found` for a run that is not the session's or has not begun."""
    row = yield from ask_one("get_run", run_id=run_id)
    run = None if row is None else run_info(row)
    if run is None or run.session_id != session_id or run.status == "queued":
        raise run_not_found(run_id)


def delete_session(tenant: str, user: str, session_id: str) -> Plan[list[RunInfo]]:
    """Remove a session and everything in it; hashes of its idempotency keys and aliases stay 7 days.

    Returns the runs that were running. Raises UserError `session_not_found`.
    """
    if (yield from ask_one("lock_session", tenant=tenant, user_id=user, session_id=session_id)) is None:
        raise session_not_found(session_id)
    session = yield from get_session(tenant, user, session_id)
    active = yield from ask("active_runs", tenant=tenant, user_id=user, session_id=session_id)
    running = [info for info in (yield from all_current(active)) if info.status == "running"]
    if session.alias is not None:
        yield from ask(
            "put_key",
            tenant=tenant,
            user_id=user,
            kind="session",
            scope=session.agent_id,
            hash=hash_key(session.alias),
            digest=b"",
            run_id="",
            now=now_ms(),
        )
    yield from ask("delete_tool_requests_of_session", tenant=tenant, user_id=user, session_id=session_id)
    yield from ask("delete_session", tenant=tenant, user_id=user, session_id=session_id)
    yield from forget_inline_agent(tenant, session.agent_id)
    for info in running:
        yield Forget(info.run_id)
    return running


def list_messages(
    tenant: str,
    user: str,
    session_id: str,
    *,
    after: str | None = None,
    limit: int = 200,
    limit_bytes: int | None = None,
    leaf: str | None = None,
    queued: bool = True,
) -> Plan[Page[MessageRecord]]:
    """A session's finished messages in the order of the conversation, those of queued runs last.

    With `leaf` only the messages of the path to that run; `queued` False leaves out those of queued runs. A page
    ends at `limit` messages or `limit_bytes` of them, and has one at least.
    Raises UserError `session_not_found`, `invalid_cursor`, `run_not_found`.
    """
    yield from check_session(tenant, user, session_id)
    of_path = yield from _path_values(session_id, leaf)
    start = (-1, 0, -1) if after is None else read_cursor(after, tuple[int | None, int, int])
    pos, number, idx = start
    asked = page_size(limit) + 1
    values = {"tenant": tenant, "user_id": user, "session_id": session_id}
    rows: list[Row] = []
    if pos is not None:
        query = "list_path_messages" if of_path else "list_messages"
        rows += yield from ask(query, pos=pos, run_number=number, idx=idx, limit=asked, **values, **of_path)
        number, idx = 0, -1
    if queued and len(rows) < asked:
        left = asked - len(rows)
        rows += yield from ask("list_queued_messages", run_number=number, idx=idx, limit=left, **values)
    found = [as_row(MessagePlace, row) for row in rows]
    shown = fit_page(found, asked - 1, limit_bytes)
    return Page(
        (yield from _read_messages(values, shown)),
        write_cursor(shown[-1].place) if len(found) > len(shown) else None,
        write_cursor(shown[0].place) if after is not None and shown else None,
    )


def last_messages(
    tenant: str,
    user: str,
    session_id: str,
    *,
    before: str | None = None,
    limit: int = 200,
    limit_bytes: int | None = None,
    leaf: str | None = None,
    queued: bool = True,
) -> Plan[Page[MessageRecord]]:
    """The newest of a session's finished messages, or those before a cursor, as `list_messages` returns them.

    Raises UserError `session_not_found`, `invalid_cursor`, `run_not_found`.
    """
    yield from check_session(tenant, user, session_id)
    of_path = yield from _path_values(session_id, leaf)
    end = (None, BEYOND_ALL, 0) if before is None else read_cursor(before, tuple[int | None, int, int])
    pos, number, idx = end
    size = page_size(limit)
    values = {"tenant": tenant, "user_id": user, "session_id": session_id}
    rows: list[Row] = []
    if pos is None:
        if queued:
            rows += yield from ask(
                "last_queued_messages", run_number=number, idx=idx, limit=size + 1, **values
            )
        pos, number, idx = BEYOND_ALL, 0, 0
    if (left := size + 1 - len(rows)) > 0:
        query = "last_path_messages" if of_path else "last_messages"
        rows += yield from ask(query, pos=pos, run_number=number, idx=idx, limit=left, **values, **of_path)
    shown = fit_page([as_row(MessagePlace, row) for row in rows], size, limit_bytes)[::-1]
    return Page(
        (yield from _read_messages(values, shown)),
        write_cursor(shown[-1].place) if before is not None and shown else None,
        write_cursor(shown[0].place) if len(rows) > len(shown) else None,
    )


def _path_values(session_id: str, leaf: str | None) -> Plan[dict[str, object]]:
    if leaf is None:
        return {}
    yield from check_leaf(session_id, leaf)
    return {"leaf": leaf}


def fit_page(places: list[MessagePlace], limit: int, limit_bytes: int | None) -> list[MessagePlace]:
    """The first messages that fit on a page, at least one."""
    left = limit_bytes
    for at, place in enumerate(places[:limit]):
        if left is not None:
            left -= place.size_bytes
            if left < 0 and at:
                return places[:at]
    return places[:limit]


def _read_messages(values: Mapping[str, object], places: Sequence[MessagePlace]) -> Plan[list[MessageRecord]]:
    """Read the messages at these places, in their order."""
    ids = [place.id for place in places]
    found = (yield from ask("find_messages", ids=ids, **values)) if ids else ()
    records = {record.id: record for record in (message_record(as_row(MessageRow, row)) for row in found)}
    return [records[id_] for id_ in ids if id_ in records]


def find_messages(tenant: str, user: str, session_id: str, ids: Sequence[str]) -> Plan[list[MessageRecord]]:
    """The session's messages with these ids, also of queued runs."""
    rows = yield from ask("find_messages", tenant=tenant, user_id=user, session_id=session_id, ids=list(ids))
    return [message_record(as_row(MessageRow, row)) for row in rows]


def list_interrupts(tenant: str, user: str, session_id: str) -> Plan[list[InterruptRecord]]:
    """A session's questions, newest first, with answered ones. Raises UserError `session_not_found`."""
    yield from check_session(tenant, user, session_id)
    rows = yield from ask("list_interrupts", tenant=tenant, user_id=user, session_id=session_id)
    return [to_struct(InterruptRecord, row) for row in rows]


def expire_interrupts(*, job: Completion | None = None) -> Plan[int]:
    """Close expired questions; returns how many."""
    yield from finish_job(job)
    return len((yield from ask("expire_interrupts", now=now_ms())))


def hash_key(key: str) -> bytes:
    """The stored hash of a key or an alias."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def _current_session(session: SessionRow) -> Plan[SessionRecord]:
    last_seq = session.last_seq
    if session.last_run_id is not None and session.last_status == "running":
        found = yield from ask_one("get_run", run_id=session.last_run_id)
        if found is not None:
            last_seq = (yield from current(run_info(found))).last_seq
    return session_record(session, (session.last_first_pos or 0) + (last_seq or 0))
