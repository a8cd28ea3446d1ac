"""JobRunner: claims background jobs from the store and runs them, a few at a time.

It sleeps until the next job is due, or until the bell rings. A job whose process dies is run again when its claim has
ended; every change under a claim is fenced by the store.
"""

import asyncio
import logging
import math
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from agio.core.config import ServerLimits
from agio.core.store.jobs import JobRecord, JobStore, NewJob
from agio.errors import AgioError, StoreError

_log = logging.getLogger("agio.gateway")

UNKNOWN = "bury_unknown_jobs"
"""The kind of the runner's own job: it ends the jobs that no process can run."""
_MESSAGE_CHARS = 1000


class JobKind(Struct, frozen=True, kw_only=True):
    """How the jobs of a kind are run."""

    run: Callable[[JobRecord], Awaitable[object]]
    """Runs a job. Its last act is the store's commit that takes `job.done(...)`: until then it may be run again."""
    every_s: float | None = None
    """The interval of a recurring job of the server, which the runner adds itself."""
    attempts: int | None = 8
    """A job is dead after so many failures or lost claims; None: it is retried forever."""
    at_once: int | None = None
    """The most jobs of the kind that run concurrently here; None: as many as of all kinds."""
    backoff_s: float = 1.0
    """The pause before the first retry; it doubles with each attempt."""
    max_backoff_s: float = 3600.0

    def pause_ms(self, attempts: int) -> int:
        """Return the pause after so many attempts, with jitter."""
        pause_s = min(
            self.backoff_s * 2 ** min(attempts - 1, 32), self.max_backoff_s, self.every_s or math.inf
        )
        return int(pause_s * random.uniform(0.5, 1.0) * 1000)  # noqa: S311 (spreads retries)


class JobRunner:
    """Runs jobs of these kinds. `run` is its task."""

    def __init__(self, store: JobStore, kinds: Mapping[str, JobKind], limits: ServerLimits) -> None:
        self._store = store
        self._limits = limits
        self._lease_ms = int(limits.job_lease_s * 1000)
        self._kinds = {
            **kinds,
            UNKNOWN: JobKind(run=self._bury_unknown, every_s=limits.sweep_s, attempts=None),
        }
        self._bell = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()

    def ring(self) -> None:
        """Look for jobs that are due: one was added or queued again."""
        self._bell.set()

    async def run(self) -> None:
        """Add the recurring jobs, then claim and run what is due, forever."""
        armed = False
        while True:
            self._bell.clear()
            try:
                if not armed:
                    await self._arm()
                    armed = True
                wait_s = await self._claim_due()
            except AgioError as error:
                _log.warning("jobs could not be claimed and are looked for again soon: %s", error)
                wait_s = self._limits.tick_s
            except Exception:
                _log.exception("jobs could not be claimed and are looked for again soon")
                wait_s = self._limits.tick_s
            try:
                async with asyncio.timeout(wait_s):
                    await self._bell.wait()
            except TimeoutError:
                pass

    async def close(self) -> None:
        """Stop what is running and give its claims back."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _arm(self) -> None:
        for name, kind in self._kinds.items():
            if kind.every_s is not None:
                await self._store.arm_job(NewJob(kind=name, key=name, delay_ms=int(kind.every_s * 1000)))

    async def _claim_due(self) -> float:
        """Claim what is due while there is room. Return how long to sleep."""
        while len(self._running) < self._limits.jobs_at_once:
            names = self._free_kinds()
            due_ms = await self._store.next_job(names)
            if due_ms is None or due_ms > 0:
                sleep_s = self._limits.sweep_s if due_ms is None else due_ms / 1000
                return min(sleep_s, self._limits.sweep_s)  # another process may add one and die
            job = await self._store.claim_job(names, self._lease_ms)
            if job is None:
                return self._limits.tick_s  # another gateway is changing it
            task = asyncio.create_task(self._perform(job), name=_task_name(job.kind))
            self._running.add(task)
            task.add_done_callback(self._done)
        return self._limits.sweep_s

    def _free_kinds(self) -> list[str]:
        """The kinds of which another job may run."""
        running = Counter(task.get_name() for task in self._running)
        return [
            name
            for name, kind in sorted(self._kinds.items())
            if kind.at_once is None or running[_task_name(name)] < kind.at_once
        ]

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a job could not be completed; it is run again when its claim ends", exc_info=error)
        self.ring()

    async def _perform(self, job: JobRecord) -> None:
        """Run a claimed job and record its failure."""
        kind = self._kinds[job.kind]
        work = asyncio.ensure_future(self._work(job, kind))
        try:
            await self._hold(job, work)
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait([work])
            await self._record(self._store.release_job(job), job)
            raise
        if not work.cancelled() and (error := work.exception()) is not None:
            await self._fail(job, kind, error)

    async def _work(self, job: JobRecord, kind: JobKind) -> None:
        if kind.attempts is not None and job.attempts > kind.attempts:
            raise StoreError(
                "job_abandoned",
                f"The job was claimed {kind.attempts} times, and its last process did not finish it.",
            )
        await kind.run(job)

    async def _hold(self, job: JobRecord, work: asyncio.Future[None]) -> None:
        """Extend the claim until the work has ended. Work whose claim has ended is cancelled."""
        held = True
        while not (await asyncio.wait([work], timeout=self._limits.job_lease_s / 3))[0]:
            if not held:  # a claim also ends when the work completes the job: it had time to return since
                work.cancel()
            try:
                held = await self._store.renew_job(job, self._lease_ms)
            except AgioError as error:  # the claim may end meanwhile: then nothing is written under it
                _log.warning("the claim of job %s could not be extended: %s", job.id, error)

    async def _fail(self, job: JobRecord, kind: JobKind, error: BaseException) -> None:
        code, message = "internal_error", "An unexpected error; see the server's log."
        if isinstance(error, AgioError):
            code, message = error.code, error.message[:_MESSAGE_CHARS]
        if code == "job_claim_lost":
            _log.warning("job %s (%s) was not completed: its claim had ended", job.id, job.kind)
            return
        dead = kind.attempts is not None and job.attempts >= kind.attempts
        words = "job %s (%s) failed and is dead: %s" if dead else "job %s (%s) failed and is retried: %s"
        shown = error if isinstance(error, AgioError) else type(error).__name__
        _log.warning(words, job.id, job.kind, shown, exc_info=None if isinstance(error, AgioError) else error)
        retry_ms = None if dead else kind.pause_ms(job.attempts)
        await self._record(self._store.fail_job(job, code, message, retry_ms), job)

    async def _record(self, change: Awaitable[None], job: JobRecord) -> None:
        try:
            await change
        except AgioError as error:
            _log.warning("job %s is run again when its claim ends: %s", job.id, error)

    async def _bury_unknown(self, job: JobRecord) -> None:
        limits = self._limits
        again = job.done(int(limits.sweep_s * 1000))
        patience_ms = int(limits.unknown_job_s * 1000)
        for job_id, kind in await self._store.bury_unknown_jobs(sorted(self._kinds), patience_ms, job=again):
            _log.warning("job %s is dead: no gateway knows its kind %s", job_id, kind)


def _task_name(kind: str) -> str:
    return f"agio job {kind}"
