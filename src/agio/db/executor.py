"""What a database must be able to do for the repository: run plans, append to logs."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from agio.core.store.repository import Append
from agio.db.plan import Plan

T = TypeVar("T")


class Executor(Protocol):
    """A database. Raises StoreError when it fails, and what a plan raises."""

    def write(self, make: Callable[[], Plan[T]]) -> Awaitable[T]:
        """Run a plan as one transaction; done after the commit. The plan may be made more than once."""
        ...

    def read(self, make: Callable[[], Plan[T]]) -> Awaitable[T]:
        """Run a plan that changes nothing: no transaction, every query sees the newest commit."""
        ...

    def append(self, write: Append) -> Awaitable[None]:
        """Make a frame durable, as `LogWriter.append`.

        A run it creates is made by the plan `runs.create_run`; what else comes with it is written by the plan
        `runs.keep_append`.
        """
        ...

    def check_room(self) -> None:
        """Raise StoreError `store_full` if the next writes will not fit."""
        ...

    async def close(self) -> None:
        """Write what is pending and let go."""
        ...
