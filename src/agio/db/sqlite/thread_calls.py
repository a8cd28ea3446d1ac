"""Work handed from event loops to the store's threads, and its outcome handed back."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Generic, TypeVar, cast

S = TypeVar("S")
T = TypeVar("T")


class Job(Generic[S]):
    """A call on something only a store's thread may touch, and the future that waits for it."""

    __slots__ = ("error", "future", "result", "urgent", "work")

    def __init__(self, work: Callable[[S], object], future: asyncio.Future[object], urgent: bool) -> None:
        self.work = work
        self.future = future
        self.urgent = urgent
        self.result: object = None
        self.error: BaseException | None = None


def make_job(work: Callable[[S], T], urgent: bool = True) -> tuple[Job[S], asyncio.Future[T]]:
    """Make a job whose outcome goes to the running event loop."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    return Job(work, cast("asyncio.Future[object]", future), urgent), future


def settle(jobs: Iterable[Job[S]]) -> None:
    """Hand back the outcomes of jobs, waking each event loop once."""
    loops: dict[asyncio.AbstractEventLoop, list[Job[S]]] = {}
    for job in jobs:
        loops.setdefault(job.future.get_loop(), []).append(job)
    for loop, done in loops.items():
        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(_tell, done)


def _tell(jobs: list[Job[S]]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)
