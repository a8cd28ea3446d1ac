"""Time in tests: the loop's clock, which can be put forward, and waiting for what takes as long as it takes."""

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

PATIENCE_S = 60.0
DAY_NS = 24 * 3600 * 1_000_000_000


def pass_time(seconds: float) -> None:
    """Let so much time have passed for everything the running loop measures: time-outs strike at once."""
    loop = asyncio.get_running_loop()
    now = loop.time
    vars(loop)["time"] = lambda: now() + seconds


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so that nobody tells of. Raises TimeoutError."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if is_so():
                return
            await asyncio.sleep(0.002)


@contextmanager
def days_ago(days: int) -> Generator[None]:
    """Let what is done now be done so many days ago, by this process's clock."""
    now = time.time_ns
    with pytest.MonkeyPatch.context() as clock:
        clock.setattr(time, "time_ns", lambda: now() - days * DAY_NS)
        yield
