"""Jobs: added, claimed, completed with their effect, retried. Every change of a claimed job is fenced by its epoch."""

from collections.abc import Collection

import msgspec

from agio.core.memory import EXTRACTION
from agio.core.store.jobs import Completion, JobRecord, JobState, NewJob
from agio.core.store.records import Page
from agio.db.cursors import page_of, page_size, read_cursor
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.runs.log import BEYOND_ALL
from agio.db.refusals import job_claim_lost, job_not_found, unknown_job_kind
from agio.db.rows import to_struct
from agio.errors import UserError
from agio.protocol.ids import new_id


def add_job(job: NewJob) -> Plan[bool]:
    """Add a job unless its kind has one with this key; returns whether it was added."""
    return (yield from ask_one("add_job", job_id=new_id("job"), **msgspec.structs.asdict(job))) is not None


def arm_job(job: NewJob) -> Plan[None]:
    """Add a recurring job, or begin it anew if it ended."""
    yield from ask("arm_job", job_id=new_id("job"), **msgspec.structs.asdict(job))


def arm_extraction(session_id: str, delay_ms: int) -> Plan[None]:
    """Extract a session's memories after a time, or sooner if that was said before."""
    yield from ask(
        "arm_extraction", job_id=new_id("job"), kind=EXTRACTION, session_id=session_id, delay_ms=delay_ms
    )


def next_job(kinds: Collection[str]) -> Plan[int | None]:
    """In how many milliseconds the next job of these kinds is due."""
    row = yield from ask_one("next_job", kinds=list(kinds))
    return None if row is None else msgspec.convert(row[0], int)


def claim_job(kinds: Collection[str], lease_ms: int) -> Plan[JobRecord | None]:
    """Claim the job of these kinds that is due longest."""
    row = yield from ask_one("claim_job", kinds=list(kinds), lease_ms=lease_ms)
    return None if row is None else to_struct(JobRecord, row)


def renew_job(job: JobRecord, lease_ms: int) -> Plan[bool]:
    """Extend a claim; returns whether it was still valid."""
    claim = {"job_id": job.id, "epoch": job.epoch}
    return (yield from ask_one("renew_job", lease_ms=lease_ms, **claim)) is not None


def finish_job(job: Completion | None) -> Plan[None]:
    """Complete a job, in the transaction of its effect. Raises StoreError `job_claim_lost`.

    Each plan that is the effect of a job calls this with what it was given; None: no job.
    """
    if job is not None:
        completed = yield from ask_one("complete_job", **msgspec.structs.asdict(job))
        if completed is None:
            raise job_claim_lost(job.job_id)


def fail_job(job: JobRecord, code: str, message: str, retry_ms: int | None) -> Plan[None]:
    """Record a failed attempt; without `retry_ms` the job is dead. Raises StoreError `job_claim_lost`."""
    error = {"code": code, "message": message}
    failed = yield from ask_one("fail_job", job_id=job.id, epoch=job.epoch, retry_ms=retry_ms, **error)
    if failed is None:
        raise job_claim_lost(job.id)


def release_job(job: JobRecord) -> Plan[None]:
    """Give a claim back."""
    yield from ask("release_job", job_id=job.id, epoch=job.epoch)


def bury_unknown_jobs(
    kinds: Collection[str], patience_ms: int, *, job: Completion | None = None
) -> Plan[list[tuple[str, str]]]:
    """Make dead what is due for longer and is of other kinds; returns ids and kinds."""
    yield from finish_job(job)
    error = unknown_job_kind()
    rows = yield from ask(
        "bury_unknown_jobs",
        kinds=list(kinds),
        patience_ms=patience_ms,
        code=error.code,
        message=error.message,
    )
    return msgspec.convert(rows, list[tuple[str, str]])


def list_jobs(
    tenant: str,
    *,
    state: JobState | None = None,
    kind: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Plan[Page[JobRecord]]:
    """A tenant's jobs, newest first. Raises UserError `invalid_cursor`."""
    created_at, job_id = (BEYOND_ALL, "") if after is None else read_cursor(after, tuple[int, str])
    rows = yield from ask(
        "list_jobs",
        tenant=tenant,
        state=state,
        kind=kind,
        created_at=created_at,
        job_id=job_id,
        limit=page_size(limit) + 1,
    )
    jobs = [to_struct(JobRecord, row) for row in rows]
    return page_of(jobs, limit, lambda job: job, lambda job: [job.created_at, job.id])


def retry_job(tenant: str, job_id: str) -> Plan[JobRecord]:
    """Queue a dead job again. Raises UserError `job_not_found`, `job_not_dead`."""
    row = yield from ask_one("retry_job", tenant=tenant, job_id=job_id)
    if row is not None:
        return to_struct(JobRecord, row)
    known = yield from ask_one("get_job", tenant=tenant, job_id=job_id)
    if known is None:
        raise job_not_found(job_id)
    state = to_struct(JobRecord, known).state
    raise UserError("job_not_dead", f"The job is {state}. Only a dead job is retried.", {"state": state})


def count_jobs() -> Plan[dict[str, int]]:
    """The open and the dead jobs, by state."""
    [row] = yield from ask("count_jobs")
    queued, running, dead = msgspec.convert(row, tuple[int, int, int])
    return {"queued": queued, "running": running, "dead": dead}
