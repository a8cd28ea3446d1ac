"""Arrivals: a submission and its session, which exists already or starts with it."""

import secrets

from msgspec import Struct, structs

from agio.core.run.title import title_of
from agio.core.store.records import AgentRecord, OnBusy, SessionStart, Submission
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.agents.definitions import KnownDefinitions
from agio.db.plans.runs.paths import EMPTY_HEAD, SessionHead
from agio.db.plans.sessions.sessions import NewSession, add_session, session_of_alias
from agio.db.records import now_ms, split_agent
from agio.db.refusals import session_not_found
from agio.db.rows import Columns, as_row


class Target(Struct, frozen=True):
    """A session under its lock: no other transaction adds to it, or changes the tenant's queue."""

    title: str
    on_busy: OnBusy
    mark: str
    agent_deleted_at: int | None
    head: SessionHead
    agent: AgentRecord
    """With its tools only if the session is new."""
    is_new: bool = False
    """The session starts with this submission: it has no run, message or question."""


class _LockedSession(Columns, frozen=True):
    """`lock_session`, after the agent's columns."""

    title: str
    on_busy: OnBusy
    mark: str
    agent_deleted_at: int | None


class Arrival(Struct, frozen=True):
    """A submission, its sender and its session; `given.session_id` is that session's."""

    tenant: str
    user: str
    given: Submission
    session: Target
    now: int
    definitions: KnownDefinitions | None = None

    @property
    def place(self) -> dict[str, object]:
        """The session as parameters of queries."""
        return {"tenant": self.tenant, "user_id": self.user, "session_id": self.given.session_id}


def receive(
    tenant: str, user: str, given: Submission, definitions: KnownDefinitions | None = None
) -> Plan[Arrival]:
    """Find the session that a message goes to, or begin it.

    Raises UserError `session_not_found`; with `start`, what `start_session` raises.
    """
    now = now_ms()
    if (start := given.start) is not None:
        yield from ask("lock_tenant", tenant=tenant)
        known = yield from session_of_alias(tenant, user, start)
        if known is None:
            session = yield from _begin(tenant, user, given, start, now)
            if session is not None:
                return Arrival(tenant, user, given, session, now, definitions)
            known = yield from session_of_alias(tenant, user, start)
        given = structs.replace(given, session_id=known or given.session_id)
    row = yield from ask_one("lock_session", tenant=tenant, user_id=user, session_id=given.session_id)
    if row is None:
        raise session_not_found(given.session_id)
    agent, rest = split_agent(row)
    count = len(_LockedSession.__struct_fields__)
    found, head = as_row(_LockedSession, rest[:count]), as_row(SessionHead, rest[count:])
    session = Target(found.title, found.on_busy, found.mark, found.agent_deleted_at, head, agent)
    return Arrival(tenant, user, given, session, now, definitions)


def _begin(tenant: str, user: str, given: Submission, start: SessionStart, now: int) -> Plan[Target | None]:
    new = NewSession(given.session_id, start.title or title_of(given.messages), secrets.token_hex(8), now)
    agent = yield from add_session(tenant, user, start, new)
    if agent is None:
        return None
    return Target(new.title, start.on_busy, new.mark, None, EMPTY_HEAD, agent, is_new=True)
