"""Connections to Postgres: a pool, transactions, and retries while the server restarts."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Generic, TypeAlias, TypeVar

from agio.db.postgres.driver import ANSWER_TIMEOUT_S, Connection, Connections, connect_pool
from agio.db.postgres.errors import is_conflict, is_lost, opening_error, postgres_error
from agio.errors import AgioError, StoreError

T = TypeVar("T")

PATIENCE_S = 0.8
"""How long to retry while the server cannot be reached: then callers hear of it, and workers keep what they have."""
PAUSE_S = 0.02
MAX_PAUSE_S = 0.2
ATTEMPTS = 5
"""How often a conflicting transaction is tried."""

Work: TypeAlias = Callable[[Connection], Awaitable[T]]


class PostgresPool:
    """Runs work on connections of a pool. Errors of asyncpg become StoreErrors here."""

    def __init__(self, pool: Connections, url: str) -> None:
        self._pool = pool
        self._url = url
        self._closed = False

    async def read(self, work: Work[T], *, patience_s: float = PATIENCE_S) -> T:
        """Run work outside a transaction, again if the connection is lost.

        Raises StoreError `store_unavailable`, `store_failed`, `store_closed`.
        """
        return await self._patiently(work, is_lost, patience_s)

    async def write(self, work: Work[T], *, repeatable: bool = False, patience_s: float = PATIENCE_S) -> T:
        """Run work in a transaction: again if it was not committed, or if it is `repeatable`.

        Raises StoreError `store_unavailable`, `store_full`, `store_failed`, `store_closed`.
        """
        transaction = _Transaction(work)

        def may_repeat(error: BaseException) -> bool:
            if is_conflict(error):
                return transaction.attempts < ATTEMPTS
            return is_lost(error) and (repeatable or not transaction.committing)

        return await self._patiently(transaction.run, may_repeat, patience_s)

    async def close(self) -> None:
        """Wait for running work and close the connections."""
        if self._closed:
            return
        self._closed = True
        try:
            await asyncio.wait_for(self._pool.close(), ANSWER_TIMEOUT_S)
        except Exception:  # the server is gone
            self._pool.terminate()

    async def _patiently(
        self, work: Work[T], may_repeat: Callable[[BaseException], bool], patience_s: float
    ) -> T:
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + patience_s
        pause = PAUSE_S
        while True:
            if self._closed:
                raise StoreError("store_closed", "The store was closed.")
            try:
                return await self._once(work)
            except AgioError:
                raise
            except Exception as error:
                if not may_repeat(error) or loop.time() + pause > give_up_at:
                    raise postgres_error(error, self._url) from error
            await asyncio.sleep(pause)
            pause = min(pause * 2, MAX_PAUSE_S)

    async def _once(self, work: Work[T]) -> T:
        connection = await self._pool.acquire(timeout=ANSWER_TIMEOUT_S)
        try:
            return await work(connection)
        except Exception as error:
            if is_lost(error):
                with suppress(Exception):
                    connection.terminate()
            raise
        finally:
            # The work is done: an error of the release only makes the pool replace the connection.
            with suppress(Exception):
                await self._pool.release(connection, timeout=ANSWER_TIMEOUT_S)


class _Transaction(Generic[T]):
    """Work between a begin and a commit; `committing` says that the commit may have happened."""

    def __init__(self, work: Work[T]) -> None:
        self._work = work
        self.attempts = 0
        self.committing = False

    async def run(self, connection: Connection) -> T:
        self.attempts += 1
        self.committing = False
        await connection.execute("begin isolation level read committed")
        try:
            result = await self._work(connection)
            self.committing = True
            await connection.execute("commit")
        except BaseException:
            with suppress(Exception):
                await connection.execute("rollback")
            raise
        return result


async def open_pool(url: str, connections: int) -> PostgresPool:
    """Open a pool. Raises StoreError `store_unavailable`."""
    try:
        return PostgresPool(await connect_pool(url, connections), url)
    except Exception as error:
        raise opening_error(error, url) from error
