"""The named points of a run at which a process can be made to die, and the protections that can be left out."""
# Methods of other classes are replaced here, which types cannot follow:
# pyright: basic, reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportOptionalMemberAccess=false, reportFunctionMemberAccess=false

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from msgspec import structs

POINTS = (
    "after_accept",
    "after_claim",
    "mid_turn",
    "turn_committed",
    "tool_started",
    "tool_finished",
    "append_committed",
    "before_the_end",
    "job_claimed",
    "lease_acquired",
    "job_acted",
    "job_completed",
    "lease_released",
)
LEASE_MS = 700


def reach(point: str) -> None:
    """Die here if this is the point that was chosen, at the time that was chosen; once."""
    chosen = os.environ.get("AGIO_TEST_FAULT", "")
    name, _, armed = chosen.partition("=")
    if name != point:
        return
    try:
        left = int(Path(armed).read_text()) - 1
        if left > 0:
            Path(armed).write_text(str(left))
            return
        os.rename(armed, f"{armed}-{os.getpid()}")
    except (OSError, ValueError):
        return
    os.kill(os.getpid(), signal.SIGKILL)


def install() -> None:
    """Put the points where they belong, and take away what is to be left out."""
    import agio.gateway.intake.intake as intake
    import agio.gateway.workers.dispatcher as dispatcher
    import agio.gateway.workers.recorder as recorder
    import agio.worker.outbox as outbox

    send = intake.Intake.accept

    async def sending(self: object, *given: object) -> object:
        accepted = await send(self, *given)
        reach("after_accept")
        return accepted

    intake.Intake.accept = sending

    settle = dispatcher.Dispatcher.settle

    def settling(self: object, slot: object, claimed: object) -> None:
        if claimed is not None:
            reach("after_claim")
        settle(self, slot, claimed)

    dispatcher.Dispatcher.settle = settling

    written = recorder.Recorder._written

    def committed(self: object, *given: object) -> None:
        reach("append_committed")
        written(self, *given)

    recorder.Recorder._written = committed

    append = outbox.Outbox.append

    def appending(self: object, write: object) -> Awaitable[None]:
        if write.end is not None:
            reach("before_the_end")
        elif b"TEXT_MESSAGE_CHUNK" in write.frame.payload:
            reach("mid_turn")
        answered = append(self, write)
        if write.turns:
            answered = asyncio.ensure_future(answered)
            answered.add_done_callback(lambda done: reach("turn_committed"))
        return answered

    outbox.Outbox.append = appending
    sabotage = os.environ.get("AGIO_TEST_SABOTAGE")
    if sabotage:
        _SABOTAGE[sabotage]()


def add_tally() -> None:
    """Add a kind of background job, one at a time by a lease, whose effect is a row for each time it happened.

    Nothing removes the rows; each has the epoch of the lease, which is held until the commit.
    """
    import agio.gateway.jobs.sweeps as sweeps
    from agio.db.plan import ask
    from agio.db.plans.jobs.jobs import finish_job
    from agio.db.plans.jobs.leases import renew_lease
    from agio.errors import StoreError
    from agio.gateway.jobs.runner import JobKind

    make = sweeps.Sweeps.__init__
    is_split = os.environ.get("AGIO_TEST_SABOTAGE") == "job"

    def act(job: object, lease: object) -> object:
        if not (yield from renew_lease(lease, LEASE_MS)):
            raise StoreError("store_failed", "The lease has ended: another job may hold it.")
        entry = dict.fromkeys(("user_id", "credential", "address", "request_id"), "")
        details = str(lease.epoch)
        yield from ask(
            "add_audit", tenant="default", now=0, action="tally", object=job.key, details=details, **entry
        )
        if not is_split:
            reach("job_acted")
            yield from finish_job(job.done())

    def making(self: object, store: object, *rest: object) -> None:
        make(self, store, *rest)

        async def tally(job: object) -> None:
            reach("job_claimed")
            while (lease := await store.acquire_lease("tally", job.id, LEASE_MS)) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            reach("lease_acquired")
            await store.executor.write(partial(act, job, lease))
            if is_split:
                reach("job_acted")
                await store.finish_job(job.done())
            reach("job_completed")
            await store.release_lease(lease)
            reach("lease_released")

        self.kinds = {**self.kinds, "tally": JobKind(run=tally)}

    sweeps.Sweeps.__init__ = making


def without_fence() -> None:
    """Take what anybody appends, after whatever is there: also what a worker says twice."""
    import agio.db.sqlite.batch as batch
    import agio.gateway.workers.pool as pool
    import agio.gateway.workers.recorder as recorder

    append = batch.Batch.append

    def take_anything(self: object, write: object, *rest: object) -> object:
        run = self._find(write.frame.run_id)
        if run is not None:
            frame = structs.replace(write.frame, epoch=run.epoch, first_seq=run.last_seq + 1)
            write = structs.replace(write, frame=frame)
        return append(self, write, *rest)

    batch.Batch.append = take_anything
    recorder.check_append = lambda *_: None

    def check(self: object, claim: object, worker: object) -> object:
        run = self.runs.get(claim.run_id)
        if run is None:
            raise pool.StoreError("stale_epoch", "gone")
        return run

    pool.WorkerPool.check = check
    again = recorder.Recorder.append

    def twice(self: object, held: object, write: object) -> object:
        """Write a frame as a worker that was given up would: once more than it should be."""
        if write.end is None and b"TEXT_MESSAGE_CHUNK" in write.frame.payload:
            self.repeated = asyncio.ensure_future(self._store.append(write))
        return again(self, held, write)

    recorder.Recorder.append = twice

    def forget(self: object, run_id: str, epoch: int | None = None) -> None:
        """Remove a claim, and let its worker go on."""
        if run_id in self.runs:
            self.let_go(self.runs[run_id])

    pool.WorkerPool.revoke = forget


def relaying_first() -> None:
    """Show events some time before they are durable; `shown` is a point in between."""
    import agio.gateway.workers.recorder as recorder

    append = recorder.Recorder.append

    def show_first(self: object, held: object, write: object) -> object:
        self._publish(held, write.frame, 0.0)
        loop = asyncio.get_running_loop()
        answer = loop.create_future()

        def store() -> None:
            reach("shown")
            asyncio.ensure_future(append(self, held, write)).add_done_callback(
                lambda done: (
                    answer.set_exception(done.exception())
                    if done.exception() is not None
                    else answer.set_result(done.result())
                )
            )

        loop.call_later(0.05, store)
        return answer

    recorder.Recorder.append = show_first


def without_tool_record() -> None:
    """Forget that a tool call began."""
    import agio.gateway.workers.recorder as recorder
    import agio.worker.outbox as outbox

    append = recorder.Recorder.append

    def forget(self: object, held: object, write: object) -> object:
        return append(self, held, structs.replace(write, begins=()))

    recorder.Recorder.append = forget

    async def begin_tool(self: object, *given: object, **more: object) -> None:
        return None

    outbox.Outbox.begin_tool = begin_tool


_SABOTAGE: dict[str, Callable[[], None]] = {
    "fence": without_fence,
    "relay": relaying_first,
    "record": without_tool_record,
    "job": lambda: None,  # effect and completion in two commits: see `add_tally`
}
