"""Plays a stored run again, at the speed it had."""

import asyncio
from collections.abc import Sequence

from msgspec import UNSET

from agio.cli.chat.session import FRAME_S
from agio.cli.terminal.render import EventRenderer
from agio.protocol.events import AgentEvent

LONGEST_GAP_S = 5.0
"""A longer silence is cut to this."""


async def play(events: Sequence[AgentEvent], renderer: EventRenderer, *, fast: bool) -> None:
    """Show events as far apart as they were, or all at once. The stage is always closed."""
    ticker = None if fast else asyncio.create_task(_tick(renderer))
    loop = asyncio.get_running_loop()
    due_s, last_ms = loop.time(), 0
    try:
        for event in events:
            if not fast and event.timestamp is not UNSET:
                if last_ms:
                    due_s += min(max(0.0, (event.timestamp - last_ms) / 1000), LONGEST_GAP_S)
                last_ms = event.timestamp
                if (wait_s := due_s - loop.time()) > 0:
                    await asyncio.sleep(wait_s)
            renderer.show(event)
    finally:
        if ticker is not None:
            ticker.cancel()
        renderer.stage.close()


async def _tick(renderer: EventRenderer) -> None:
    while True:
        renderer.stage.tick()
        await asyncio.sleep(FRAME_S)
