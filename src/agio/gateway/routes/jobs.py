"""Background jobs of a team, for its owners."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import Response
from msgspec import Struct

from agio.core.store.jobs import JobRecord, JobState
from agio.gateway.http.query import After, Filter, Id, Limit
from agio.gateway.http.route import Call, answer


class JobError(Struct, frozen=True):
    """Why the last attempt failed."""

    code: str
    message: str


class JobView(Struct, frozen=True, kw_only=True):
    """A background job, without its payload. Times are milliseconds since 1970."""

    id: str
    kind: str
    """Such as `delete_old_sessions`."""
    key: str
    """What it is about: there is one job for each key of a kind."""
    state: JobState
    attempts: int
    run_at: int
    """When it is, or was, due."""
    error: JobError | None
    created_at: int
    ended_at: int | None


class Jobs(Struct, frozen=True):
    """The team's jobs, newest first."""

    items: list[JobView]
    next: str | None


async def list_jobs(
    call: Call,
    state: Annotated[JobState | None, Query()] = None,
    kind: Filter = None,
    after: After = None,
    limit: Limit = 50,
) -> Response:
    """List the team's background jobs, newest first, optionally by `state` or `kind`. For owners."""
    page = await call.gateway.store.list_jobs(
        call.who.tenant, state=state, kind=kind, after=after, limit=limit
    )
    return answer(Jobs([_view(job) for job in page.items], page.next))


async def retry_job(call: Call, job_id: Id) -> Response:
    """Queue a dead background job again. For owners."""
    job = await call.gateway.store.retry_job(call.who.tenant, job_id)
    call.gateway.jobs.ring()
    return answer(_view(job))


def _view(job: JobRecord) -> JobView:
    return JobView(
        id=job.id,
        kind=job.kind,
        key=job.key,
        state=job.state,
        attempts=job.attempts,
        run_at=job.run_at,
        error=None if job.error_code is None else JobError(job.error_code, job.error_message or ""),
        created_at=job.created_at,
        ended_at=job.ended_at,
    )
