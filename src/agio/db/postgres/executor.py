"""Runs plans and appends on Postgres, a database that several gateways share."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from agio.core.store.repository import Append
from agio.db.plan import Plan
from agio.db.postgres.append import PostgresAppender
from agio.db.postgres.driver import CONNECTIONS
from agio.db.postgres.migrate import migrate_database
from agio.db.postgres.plans import run_plan
from agio.db.postgres.pool import PostgresPool, open_pool
from agio.errors import AgioError

T = TypeVar("T")


async def open_postgres(url: str, connections: int = CONNECTIONS) -> "PostgresExecutor":
    """Open a database with at most so many connections, creating or migrating its tables.

    Raises StoreError `store_unavailable`, `store_newer`, `store_prerelease`, `store_corrupt`, `store_failed`.
    """
    await migrate_database(url)
    return PostgresExecutor(await open_pool(url, connections))


class PostgresExecutor:
    """A store in Postgres. The event loop that opened it may call it; a cancelled write may still happen."""

    def __init__(self, pool: PostgresPool) -> None:
        self._pool = pool
        self._appender = PostgresAppender(pool)

    async def write(self, make: Callable[[], Plan[T]]) -> T:
        """Run a plan as one transaction; done after the commit."""
        return await self._pool.write(lambda connection: run_plan(connection, make()))

    async def read(self, make: Callable[[], Plan[T]]) -> T:
        """Run a plan that changes nothing: no transaction, every query sees the newest commit."""
        return await self._pool.read(lambda connection: run_plan(connection, make()))

    def append(self, write: Append) -> asyncio.Future[bool]:
        """Make a frame durable: the future is done after the commit, and carries any error."""
        try:
            return self._appender.append(write)
        except AgioError as refusal:
            refused: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            refused.set_exception(refusal)
            return refused

    def check_room(self) -> None:
        """Do nothing: the database watches its own disks."""

    async def close(self) -> None:
        """Write pending appends and close the connections."""
        await self._appender.close()
        await self._pool.close()
