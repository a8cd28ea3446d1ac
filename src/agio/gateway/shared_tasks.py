"""Tasks that run once per key: concurrent requests with the same key wait for the same result."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Generic, NamedTuple, TypeVar

from agio.errors import AgioError, StoreError, UserError

Result = TypeVar("Result")
Owner = tuple[str, ...]

_log = logging.getLogger("agio.gateway")


class _Shared(NamedTuple, Generic[Result]):
    asked: object
    task: asyncio.Task[Result]


class SharedTasks(Generic[Result]):
    """Tasks by owner and key. A task continues when its caller disconnects. `close` cancels all of them."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        """What a task is called in an error message."""
        self._running: dict[tuple[Owner, object], _Shared[Result]] = {}

    @property
    def owners(self) -> list[Owner]:
        """The owner of each running task."""
        return [owner for owner, _ in self._running]

    async def join(
        self, owner: Owner, key: str | None, asked: object, begin: Callable[[], Coroutine[Any, Any, Result]]
    ) -> Result:
        """Wait for the owner's task with this key, started with `begin` if there is none; without a key, a new one.

        `asked` is the request: another one with the same key is a conflict. Raises UserError `idempotency_conflict`,
        what `begin` and the task raise, StoreError `store_closed` when the gateway stops.
        """
        name = owner, object() if key is None else key
        shared = self._running.get(name)
        if shared is None:
            task = asyncio.create_task(begin())
            shared = self._running[name] = _Shared(asked, task)
            task.add_done_callback(lambda _: self._end(name))
        elif shared.asked != asked:
            raise UserError(
                "idempotency_conflict",
                f"This Idempotency-Key was already used for a different request. Use a new one for each {self._noun}.",
            )
        await asyncio.wait([shared.task])
        if shared.task.cancelled():
            raise StoreError(
                "store_closed", "The server is shutting down. Retry with the same Idempotency-Key."
            )
        return shared.task.result()

    async def close(self) -> None:
        """Stop every task."""
        tasks = [shared.task for shared in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _end(self, name: tuple[Owner, object]) -> None:
        task = self._running.pop(name).task
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, AgioError):  # the caller may have disconnected
            _log.error("a %s failed", self._noun, exc_info=error)
