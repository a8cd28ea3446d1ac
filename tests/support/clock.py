"""Time in tests: the loop's clock, which can be put forward, and waiting for what takes as long as it takes."""

import asyncio
from collections.abc import Callable

PATIENCE_S = 60.0


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
