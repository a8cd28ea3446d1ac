"""Retention: how long a tenant keeps sessions after their last change."""

import msgspec

from agio.core.identity.team import TenantRecord
from agio.core.store.jobs import RETENTION, Completion, NewJob
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.jobs.jobs import arm_job, finish_job
from agio.db.plans.people.identity import get_tenant
from agio.db.plans.sessions.sessions import delete_session
from agio.db.records import now_ms


def set_retention(tenant: str, days: int | None) -> Plan[TenantRecord]:
    """Set the days for which a tenant keeps sessions (None: forever) and arm the job that deletes the others.

    Raises UserError `tenant_not_found`.
    """
    yield from ask("set_retention", tenant=tenant, days=days)
    record = yield from get_tenant(tenant)
    if days is not None:
        yield from arm_job(NewJob(kind=RETENTION, key=tenant, tenant=tenant))
    return record


def finish_retention(tenant: str, job: Completion) -> Plan[None]:
    """Complete a tenant's retention job, for good if the tenant has no retention time."""
    yield from finish_job(job)
    # The job's row is locked: `set_retention` arms it after this commit, or is seen here.
    if (yield from get_tenant(tenant)).retention_days is None:
        yield from ask("stop_job", job_id=job.job_id, epoch=job.epoch)


def old_sessions(tenant: str, limit: int) -> Plan[list[tuple[str, str, str]]]:
    """A tenant's sessions past their retention time: tenant, user and id."""
    rows = yield from ask("old_sessions", tenant=tenant, now=now_ms(), limit=limit)
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
