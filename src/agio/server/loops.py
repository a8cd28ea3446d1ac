"""The event loop of a server, and how its garbage is collected."""

import asyncio
import gc
import sys

_GARBAGE = 10_000
"""How many new objects the collector waits for before it looks at them: most of a run's are gone by then."""


def event_loop() -> asyncio.Runner:
    """Return a runner with uvloop where there is one."""
    if sys.platform == "win32":
        return asyncio.Runner()
    import uvloop

    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def spare_what_stays() -> None:
    """Let the collector pass over everything a server has once it has started: it stays, and is much."""
    gc.freeze()
    gc.set_threshold(_GARBAGE)
