"""The event loop of a server."""

import asyncio
import sys


def event_loop() -> asyncio.Runner:
    """Return a runner with uvloop where there is one."""
    if sys.platform == "win32":
        return asyncio.Runner()
    import uvloop

    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
