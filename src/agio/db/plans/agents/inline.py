"""Inline agents: the agents of sessions that were started with a definition instead of an agent's name."""

import hashlib
import secrets

from agio.core.inline import InlineSession
from agio.core.store.records import AgentFields, AgentRecord, SessionStart
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.agents.agents import agent_named, agent_of_run, put_inline_agent
from agio.db.plans.sessions.sessions import get_session, session_of_alias
from agio.db.records import now_ms
from agio.db.refusals import session_not_found
from agio.protocol.ids import new_id


def find_agent(tenant: str, name: str) -> Plan[AgentRecord | None]:
    """The tenant's agent with this name."""
    return (yield from agent_named(tenant, name))


def start_inline_session(tenant: str, user: str, key: str | None, fields: AgentFields) -> Plan[InlineSession]:
    """Start a session with an inline agent. A key that the user has used before returns its session.

    Raises UserError `session_deleted`.
    """
    session_id = new_id("ses")
    key = key or session_id
    start = SessionStart(agent_id=inline_agent_id(tenant, user, key), alias=key)
    yield from ask("lock_tenant", tenant=tenant)
    known = yield from session_of_alias(tenant, user, start)
    if known is None:
        yield from put_inline_agent(tenant, start.agent_id, fields)
        yield from ask(
            "add_session",
            session_id=session_id,
            tenant=tenant,
            user_id=user,
            agent_id=start.agent_id,
            title="",
            on_busy="queue",
            alias=key,
            mark=secrets.token_hex(8),
            now=now_ms(),
        )
    return (yield from find_inline_session(tenant, user, key))


def find_inline_session(tenant: str, user: str, key: str) -> Plan[InlineSession]:
    """Raises UserError `session_not_found`."""
    agent_id = inline_agent_id(tenant, user, key)
    row = yield from ask_one("inline_session", tenant=tenant, user_id=user, agent_id=agent_id, alias=key)
    if row is None:
        raise session_not_found(key)
    session = yield from get_session(tenant, user, str(row[0]))
    agent = yield from agent_of_run(tenant, agent_id)
    return InlineSession(key, session, agent)


def change_inline_agent(tenant: str, user: str, key: str, fields: AgentFields) -> Plan[InlineSession]:
    """Replace a session's inline agent. Raises UserError `session_not_found`."""
    yield from ask("lock_tenant", tenant=tenant)
    found = yield from find_inline_session(tenant, user, key)
    yield from put_inline_agent(tenant, found.agent.id, fields)
    return (yield from find_inline_session(tenant, user, key))


def inline_agent_id(tenant: str, user: str, key: str) -> str:
    """Derived from the user's key, so that a repeated start finds the same agent."""
    named = "\0".join((tenant, user, key)).encode("utf-8", "surrogatepass")
    return f"agt_{hashlib.sha256(named).hexdigest()[:32]}"
