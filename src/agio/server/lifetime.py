"""The lifetime of a server: until a signal, or until one of its parts fails."""

import asyncio
import logging
import signal
from collections.abc import Coroutine

_log = logging.getLogger("agio")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Lifetime:
    """Runs named parts side by side. The first signal ends them in order, the second at once."""

    def __init__(self) -> None:
        self.failed = False
        """Whether a part ended by itself."""
        self._asked = asyncio.Event()
        self._hurry = asyncio.Event()
        self._parts: list[asyncio.Task[None]] = []

    def listen(self) -> None:
        """Install the signal handlers."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._take_signal)

    def deafen(self) -> None:
        """Restore the earlier signal handlers."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)

    def begin(self, name: str, part: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Run a part that should last as long as the server."""
        task = asyncio.create_task(part, name=name)
        self._parts.append(task)
        return task

    async def last(self) -> None:
        """Wait for the first signal, or for a part to end; then `failed` is set and the reason logged."""
        asked = asyncio.create_task(self._asked.wait())
        await asyncio.wait([asked, *self._parts], return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            return
        asked.cancel()
        self.failed = True
        for part in self._parts:
            if part.done() and not part.cancelled():
                _log.error(
                    "The %s ended, so agio stops: %s", part.get_name(), part.exception() or "no reason given"
                )

    async def hurried(self, work: Coroutine[object, object, None]) -> bool:
        """Run the shutdown; False if a second signal interrupted it."""
        task = asyncio.create_task(work)
        hurry = asyncio.create_task(self._hurry.wait())
        await asyncio.wait([task, hurry], return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        if task.done():
            task.result()
            return True
        task.cancel()
        await asyncio.wait([task])
        return False

    def _take_signal(self) -> None:
        if self._asked.is_set():
            self._hurry.set()
        self._asked.set()
