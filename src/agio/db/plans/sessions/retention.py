"""Retention: how long a tenant keeps sessions after their last change."""

import msgspec

from agio.core.identity.team import TenantRecord
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.people.identity import get_tenant
from agio.db.plans.sessions.sessions import delete_session
from agio.db.records import now_ms


def set_retention(tenant: str, days: int | None) -> Plan[TenantRecord]:
    """Set the days for which a tenant keeps sessions; None: for ever. Raises UserError `tenant_not_found`."""
    yield from ask("set_retention", tenant=tenant, days=days)
    return (yield from get_tenant(tenant))


def old_sessions(limit: int) -> Plan[list[tuple[str, str, str]]]:
    """Sessions past their retention time: tenant, user and id."""
    rows = yield from ask("old_sessions", now=now_ms(), limit=limit)
    return msgspec.convert(rows, list[tuple[str, str, str]])


def delete_old_session(tenant: str, user: str, session_id: str) -> Plan[bool]:
    """Delete a session if it is past its retention time; returns whether it was."""
    place = {"tenant": tenant, "user_id": user, "session_id": session_id}
    # After this lock a message is either committed or waits until the session is deleted.
    yield from ask("lock_session", **place)
    if (yield from ask_one("old_session", now=now_ms(), **place)) is None:
        return False
    yield from delete_session(tenant, user, session_id)
    return True
