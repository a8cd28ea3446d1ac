"""Background jobs and leases, on the database's clock: work that outlives a process, and what one process may be.

A job is claimed by one gateway at a time, under an epoch and for a limited time, which the gateway extends while it
works. A store method that is the effect of a job takes its `Completion`: effect and completion are one commit.
"""

from collections.abc import Collection
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from agio.core.store.records import Page

JobState: TypeAlias = Literal["queued", "running", "done", "dead"]
RETENTION = "delete_old_sessions"
"""The kind of a tenant's job that deletes its old sessions; `set_retention` adds it."""


class NewJob(Struct, frozen=True, kw_only=True):
    """A job to add. `key` is an id that the server made: there is one job for each key of a kind."""

    kind: str
    key: str
    tenant: str | None = None
    """None: the server's own."""
    payload: bytes = b""
    """JSON."""
    delay_ms: int = 0


class Completion(Struct, frozen=True, kw_only=True):
    """The completion of a claimed job. With `again_ms` it is queued again."""

    job_id: str
    epoch: int
    again_ms: int | None = None


class JobRecord(Struct, frozen=True, kw_only=True):
    """A job. Times are milliseconds since 1970."""

    id: str
    tenant: str | None
    kind: str
    key: str
    payload: bytes
    state: JobState
    run_at: int
    attempts: int
    lease_until: int | None
    """When its claim ends; None: it is not claimed."""
    epoch: int
    error_code: str | None
    """The error of the last attempt; None if that succeeded."""
    error_message: str | None
    created_at: int
    ended_at: int | None

    def done(self, again_ms: int | None = None) -> Completion:
        """Return the completion of this claim."""
        return Completion(job_id=self.id, epoch=self.epoch, again_ms=again_ms)


class Lease(Struct, frozen=True):
    """A lease that was acquired. `epoch` is greater than that of every earlier holder."""

    name: str
    holder: str
    epoch: int


class LeaseStore(Protocol):
    """The store of leases."""

    async def acquire_lease(self, name: str, holder: str, for_ms: int) -> Lease | None:
        """Acquire a lease; None while it is held, also by the same holder."""
        ...

    async def renew_lease(self, lease: Lease, for_ms: int) -> bool:
        """Extend a lease from now on. False: it has ended, and may be another's."""
        ...

    async def release_lease(self, lease: Lease) -> bool:
        """End a lease. False: it had ended."""
        ...


class JobStore(LeaseStore, Protocol):
    """The store of jobs. Raises StoreError `job_claim_lost` for a claim that has ended."""

    async def add_job(self, job: NewJob) -> bool:
        """Add a job, unless its kind has one with this key. Returns whether it was added."""
        ...

    async def arm_job(self, job: NewJob) -> None:
        """Add a recurring job. One that ended begins anew; one that is queued becomes due no later than this one."""
        ...

    async def next_job(self, kinds: Collection[str]) -> int | None:
        """Return in how many milliseconds the next job of these kinds is due; None if there is none."""
        ...

    async def claim_job(self, kinds: Collection[str], lease_ms: int) -> JobRecord | None:
        """Claim the job of these kinds that is due longest: epoch + 1, one more attempt."""
        ...

    async def renew_job(self, job: JobRecord, lease_ms: int) -> bool:
        """Extend a claim from now on. False: it has ended, and may be another's."""
        ...

    async def finish_job(self, job: Completion) -> None:
        """Complete a job that has no effect in the store. Raises StoreError `job_claim_lost`."""
        ...

    async def finish_retention(self, tenant: str, job: Completion) -> None:
        """Complete a tenant's retention job, which comes again while the tenant has a retention time."""
        ...

    async def fail_job(self, job: JobRecord, code: str, message: str, retry_ms: int | None) -> None:
        """Record the failure of an attempt, and queue the job again; with None it is dead."""
        ...

    async def release_job(self, job: JobRecord) -> None:
        """Give a claim back without a result; the attempt does not count. Nothing happens if the claim has ended."""
        ...

    async def bury_unknown_jobs(
        self, kinds: Collection[str], patience_ms: int, *, job: Completion | None = None
    ) -> list[tuple[str, str]]:
        """Make dead (`unknown_job_kind`) what is due for longer and is of other kinds. Returns ids and kinds."""
        ...

    async def list_jobs(
        self,
        tenant: str,
        *,
        state: JobState | None = None,
        kind: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[JobRecord]:
        """List a tenant's jobs, newest first. Raises UserError `invalid_cursor`."""
        ...

    async def retry_job(self, tenant: str, job_id: str) -> JobRecord:
        """Queue a dead job again, with all its attempts. Raises UserError `job_not_found`, `job_not_dead`."""
        ...

    async def count_jobs(self) -> dict[str, int]:
        """Count the queued, running and dead jobs of all tenants and of the server."""
        ...
