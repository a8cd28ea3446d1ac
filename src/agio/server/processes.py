"""Processes of agio's commands, as workers of `agio serve --workers N`: started, restarted, ended with their parent."""

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from agio.errors import UserError

_log = logging.getLogger("agio.workers")

_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 10.0
_SETTLED_S = 60.0
"""A process that lived this long is restarted without a pause."""
_REFUSED = 1
"""The exit code of a command that refused to start and printed why."""


class Processes:
    """N processes of one command. Their standard input is a pipe they read: it ends when we do, however we end.

    `watch` is called with the lines that they print; without it they print where we do.
    """

    def __init__(
        self,
        count: int,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        noun: str = "Worker",
        number: int = 1,
        watch: Callable[[str], None] | None = None,
    ) -> None:
        self._count = count
        name, *arguments = command
        self._command = [sys.executable, "-m", "agio.cli.main", name, "--until-stdin-ends", *arguments]
        self._noun = noun
        self._number = number
        self._watch = watch
        self._environment = environment
        self._processes: set[asyncio.subprocess.Process] = set()
        self._stopping = False

    async def run(self) -> None:
        """Keep them running. Raises UserError `worker_failed` if one cannot even begin."""
        keepers = [asyncio.create_task(self._keep(number)) for number in range(self._count)]
        try:
            await asyncio.gather(*keepers)
        finally:
            for keeper in keepers:
                keeper.cancel()

    def hold(self) -> None:
        """Restart none from now on."""
        self._stopping = True

    async def stop(self, within_s: float) -> None:
        """Terminate them, then kill those that are left."""
        self.hold()
        running = list(self._processes)
        for process in running:
            process.terminate()
        waits = [asyncio.ensure_future(process.wait()) for process in running]
        if waits:
            await asyncio.wait(waits, timeout=within_s)
        self.kill()

    def kill(self) -> None:
        """Kill them."""
        self.hold()
        for process in self._processes:
            if process.returncode is None:
                process.kill()

    async def _keep(self, number: int) -> None:
        pause_s, first = _FIRST_PAUSE_S, True
        while not self._stopping:
            began = time.monotonic()
            code = await self._run_one()
            if self._stopping:
                return
            lived_s = time.monotonic() - began
            if first and code == _REFUSED and lived_s < _SETTLED_S:
                raise UserError(
                    "worker_failed", f"A {self._noun.lower()} could not begin; it said why above."
                )
            if lived_s > _SETTLED_S:
                pause_s = _FIRST_PAUSE_S
            _log.warning(
                "%s process %d ended with code %s after %.1f s and restarts in %.1f s; its runs continue.",
                *(self._noun, number + self._number, code, lived_s, pause_s),
            )
            await asyncio.sleep(pause_s)
            pause_s, first = min(pause_s * 2, _LONGEST_PAUSE_S), False

    async def _run_one(self) -> int:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=None if self._watch is None else asyncio.subprocess.PIPE,
            env=self._environment,
            # A Ctrl-C of the terminal is for us alone: we tell them in our own order.
            start_new_session=True,
        )
        self._processes.add(process)
        try:
            if self._watch is not None and process.stdout is not None:
                async for line in process.stdout:
                    self._watch(line.decode(errors="replace"))
            return await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
            self._processes.discard(process)
