"""Threads for sync tools: daemons, reused, and abandoned when a cancelled tool does not return.

The standard executor joins its threads at exit, so one tool in `time.sleep(600)` would block the exit of the
program.
"""

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from contextlib import suppress

_IDLE_S = 10.0


class _Job:
    """A function to run, and the future of the loop that waits for it."""

    def __init__(self, function: Callable[[], object]) -> None:
        self.function = function
        self.context = contextvars.copy_context()
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[object] = self.loop.create_future()

    def run(self) -> None:
        result: object = None
        error: BaseException | None = None
        try:
            result = self.context.run(self.function)
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop may close before or while this thread reports
            self.loop.call_soon_threadsafe(self._settle, result, error)

    def _settle(self, result: object, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        elif isinstance(error, StopIteration):
            self.future.set_exception(RuntimeError("the tool raised StopIteration"))
        else:
            self.future.set_exception(error)


class DaemonThreads:
    """A pool that grows with demand and shrinks when idle."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0

    async def run(self, function: Callable[[], object]) -> object:
        """Run a function in a thread. Cancellation stops the wait; the thread continues."""
        job = _Job(function)
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
            else:
                threading.Thread(target=self._work, name="agio-tool", daemon=True).start()
        self._jobs.put(job)
        return await job.future

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=_IDLE_S)
            except queue.Empty:
                with self._lock:
                    if self._idle == 0:
                        continue  # a job is on its way to this thread
                    self._idle -= 1
                return
            job.run()
            del job
            with self._lock:
                self._idle += 1
