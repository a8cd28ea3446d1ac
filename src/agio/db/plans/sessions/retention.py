"""How long a tenant keeps its sessions, and the end of those that nobody changed for longer."""

import msgspec

from agio.core.identity.team import TenantRecord
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.people.identity import get_tenant
from agio.db.plans.sessions.sessions import delete_session
from agio.db.records import now_ms


def set_retention(tenant: str, days: int | None) -> Plan[TenantRecord]:
    """Say for how many days a tenant keeps sessions; None: for ever. Raises UserError `tenant_not_found`."""
    yield from ask("set_retention", tenant=tenant, days=days)
    return (yield from get_tenant(tenant))


def old_sessions(limit: int) -> Plan[list[tuple[str, str, str]]]:
    """Sessions that are kept no longer: tenant, user and id."""
    rows = yield from ask("old_sessions", now=now_ms(), limit=limit)
    return msgspec.convert(rows, list[tuple[str, str, str]])


def delete_old_session(tenant: str, user: str, session_id: str) -> Plan[bool]:
    """Remove a session as `delete_session` does, if it is old; returns whether it was."""
    place = {"tenant": tenant, "user_id": user, "session_id": session_id}
    # Whoever would say something in it has said it now, or waits until it is gone.
    yield from ask("lock_session", **place)
    if (yield from ask_one("old_session", now=now_ms(), **place)) is None:
        return False
    yield from delete_session(tenant, user, session_id)
    return True
