"""The threads of sync tools."""

import asyncio
import threading
import time

import pytest

from agio.execution.threads import DaemonThreads

PATIENCE_S = 60


async def test_a_thread_is_used_again() -> None:
    """L2: calls one after the other do not each need a thread of their own."""
    threads = DaemonThreads()
    idents = [await threads.run(threading.get_ident) for _ in range(100)]
    assert len(set(idents)) < 100


async def test_calls_side_by_side_each_have_a_thread() -> None:
    """L2: one blocked call never holds up another."""
    threads = DaemonThreads()
    barrier = threading.Barrier(5, timeout=PATIENCE_S)
    arrived = await asyncio.gather(*(threads.run(barrier.wait) for _ in range(5)))
    assert sorted(int(str(place)) for place in arrived) == [0, 1, 2, 3, 4]


async def test_errors_come_back_as_they_were() -> None:
    """L2: what a function raises in its thread is raised where it is awaited."""

    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await DaemonThreads().run(fail)


def test_a_thread_that_outlives_its_loop_does_no_harm() -> None:
    """L14: a late result for a closed loop is dropped, and the thread is free again."""
    threads = DaemonThreads()
    go_on = threading.Event()
    left: list[int] = []

    def linger() -> None:
        left.append(threading.get_ident())
        go_on.wait(PATIENCE_S)

    async def leave() -> None:
        task = asyncio.create_task(threads.run(linger))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def whose() -> object:
        return await threads.run(threading.get_ident)

    asyncio.run(leave())
    assert asyncio.run(whose()) not in left
    go_on.set()
    deadline = time.monotonic() + PATIENCE_S
    while (at_work := asyncio.run(whose())) not in left and time.monotonic() < deadline:
        pass
    assert at_work in left
