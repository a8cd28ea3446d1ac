"""The event loop of a server, and how its garbage is collected."""

import asyncio
import gc
import sys

_GARBAGE = 10_000
"""The threshold of the collector's first generation: most objects of a run are freed before it is reached."""


def event_loop() -> asyncio.Runner:
    """Return a runner with uvloop where there is one."""
    if sys.platform == "win32":
        return asyncio.Runner()
    import uvloop

    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def spare_what_stays() -> None:
    """Freeze the objects of a started server: they are many and stay."""
    gc.freeze()
    gc.set_threshold(_GARBAGE)
