"""Packing on Postgres happens beside readers and deletions."""

from collections.abc import Sequence
from typing import cast

import pytest

from agio.core.store.repository import Append
from agio.db.migrations import load_migrations
from agio.db.plan import Events
from agio.db.postgres.driver import Connection, connect
from agio.db.postgres.executor import open_postgres
from agio.db.postgres.migrate import migrate_database
from agio.db.postgres.plans import PAGE_ROWS, read_events
from agio.db.repository import Repository
from agio.errors import StoreError
from tests.support.backends import begin, finish, frame

EVENTS = 3 * PAGE_ROWS


async def _write(url: str) -> Repository:
    """A store with a running run, whose frames are read in several queries."""
    store = Repository(await open_postgres(url))
    await begin(store, "r1")
    for seq in range(1, EVENTS):
        await store.append(Append(frame("r1", seq, 1)))
    return store


class _Connection:
    """A connection after whose first query a run ends and its log is packed."""

    def __init__(self, connection: Connection, store: Repository) -> None:
        self._connection = connection
        self._store = store
        self.queries = 0

    async def fetch(self, query: str, *arguments: object) -> list[Sequence[object]]:
        rows = await self._connection.fetch(query, *arguments)
        self.queries += 1
        if self.queries == 1:
            await finish(self._store, "r1", EVENTS)
            await self._store.close()
        return rows


async def test_a_read_that_meets_the_packing_of_its_log_repeats_nothing(postgres_url: str) -> None:
    """L10: the first query reads frames, the second the block that took their place."""
    store = await _write(postgres_url)
    connection = await connect(postgres_url)
    reader = _Connection(connection, store)
    asked = Events("r1", 0, EVENTS - 1)
    read = await read_events(cast("Connection", reader), asked)
    assert reader.queries == 2
    assert b"".join(payload for (payload,) in read) == frame("r1", 1, EVENTS - 1).payload
    await connection.close()


async def test_the_log_of_a_run_that_was_deleted_meanwhile_does_not_come_back(postgres_url: str) -> None:
    """L12: what waits to be packed may be deleted."""
    store = await _write(postgres_url)
    await finish(store, "r1", EVENTS)
    connection = await connect(postgres_url)
    await connection.execute("delete from agent_sessions")
    await store.close()
    assert await connection.fetch("select * from frames") == []
    await connection.close()


async def test_packed_logs_forbid_the_schema_before_them(postgres_url: str) -> None:
    """L10: taking the migration back would make them unreadable, so it fails and changes nothing."""
    store = await _write(postgres_url)
    await finish(store, "r1", EVENTS)
    await store.close()
    before = next(step.version for step in load_migrations("postgres") if step.name == "packed_logs") - 1
    with pytest.raises(StoreError, match="unpacked_logs"):
        await migrate_database(postgres_url, before)
    store = Repository(await open_postgres(postgres_url))
    assert (await store.get_log("r1")).payload == frame("r1", 1, EVENTS).payload
    await store.close()
