"""The port between the repository and a database: run plans, append to logs."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from agio.core.store.repository import Append
from agio.db.plan import Plan

T = TypeVar("T")


class Executor(Protocol):
    """A database. Raises StoreError when it fails, and what a plan raises."""

    def write(self, make: Callable[[], Plan[T]]) -> Awaitable[T]:
        """Run a plan as one transaction; done after the commit. `make` is called again for each attempt."""
        ...

    def read(self, make: Callable[[], Plan[T]]) -> Awaitable[T]:
        """Run a plan that changes nothing: no transaction, every query sees the newest commit."""
        ...

    def append(self, write: Append) -> Awaitable[bool | None]:
        """Make a frame durable, as `LogWriter.append`.

        The plan `runs.create_run` creates a run; the plan `runs.keep_append` writes turns, tool calls and the end.
        """
        ...

    def check_room(self) -> None:
        """Raise StoreError `store_full` if the next writes will not fit."""
        ...

    async def close(self) -> None:
        """Write pending appends and close the database."""
        ...
