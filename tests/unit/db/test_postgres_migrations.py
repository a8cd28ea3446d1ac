"""The tables of a Postgres store: made, taken back, made again, by one process at a time."""

import asyncio

import pytest

from agio.db.migrations import known_version
from agio.db.postgres.driver import connect
from agio.db.postgres.executor import open_postgres
from agio.db.postgres.migrate import migrate_database
from agio.db.repository import Repository
from agio.errors import StoreError
from tests.support.postgres import PostgresServer

_TABLES = (
    "select table_name, column_name, data_type from information_schema.columns where table_schema = 'public'"
)


async def test_a_database_goes_up_down_and_up_again(postgres: PostgresServer, later_migration: int) -> None:
    """C1: migrations can be taken back, one by one, and made again."""
    url = postgres.create_database()
    await migrate_database(url, later_migration - 1)
    first = await _ask(url, _TABLES)
    await migrate_database(url)
    made = await _ask(url, _TABLES)
    await migrate_database(url, later_migration - 1)
    assert await _ask(url, _TABLES) == first != made
    await migrate_database(url, 0)
    assert {table for table, *_ in await _ask(url, _TABLES)} == {"schema_migrations"}
    await migrate_database(url)
    assert await _ask(url, _TABLES) == made


async def test_many_processes_may_open_a_new_database_at_once(postgres: PostgresServer) -> None:
    """C1: whoever comes first makes the tables; the others wait and find them."""
    url = postgres.create_database()
    executors = await asyncio.gather(*(open_postgres(url) for _ in range(5)))
    assert await Repository(executors[0]).get_user("default", "local") == ("Local", "owner")
    await asyncio.gather(*(executor.close() for executor in executors))
    assert await _ask(url, "select version from schema_migrations order by version") == [
        (version,) for version in range(1, known_version("postgres") + 1)
    ]


async def test_a_store_of_a_newer_agio_is_left_alone(postgres: PostgresServer) -> None:
    """C1: an older program does not touch tables that it does not know."""
    url = postgres.create_database()
    await migrate_database(url)
    await _ask(url, "insert into schema_migrations values (999, 'later', 0)")
    with pytest.raises(StoreError, match="store_newer"):
        await open_postgres(url)


async def test_a_store_of_the_earlier_numbering_is_refused(postgres: PostgresServer) -> None:
    """C1: version 1 was `server` before 0.1.0; such a database is not touched, and the message says what to do."""
    url = postgres.create_database()
    await migrate_database(url)
    await _ask(url, "update schema_migrations set name = 'server'")
    with pytest.raises(StoreError, match="store_prerelease") as refusal:
        await open_postgres(url)
    assert "Start with an empty database" in refusal.value.message


async def test_the_tables_of_another_program_are_left_alone(postgres: PostgresServer) -> None:
    """C1: a database whose migrations are not agio's is refused."""
    url = postgres.create_database()
    await _ask(url, "create table schema_migrations (version text primary key)")
    with pytest.raises(StoreError, match="store_corrupt"):
        await open_postgres(url)
    assert len(await _ask(url, _TABLES)) == 1


async def test_a_migration_that_fails_changes_nothing(postgres: PostgresServer) -> None:
    """C1: each step is one transaction."""
    url = postgres.create_database()
    await _ask(url, "create table idempotency_keys (mine text)")
    with pytest.raises(StoreError, match="store_failed"):
        await migrate_database(url)
    assert {table for table, *_ in await _ask(url, _TABLES)} == {"schema_migrations", "idempotency_keys"}


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("postgresql://agio:secret@/agio?host=/nowhere", id="no server"),
        pytest.param("postgresql://agio:secret@127.0.0.1:1/agio", id="a closed port"),
        pytest.param("postgresql://agio:secret@127.0.0.1:port/agio", id="no port"),
        pytest.param("postgresql//agio:secret@127.0.0.1/agio", id="no colon"),
        pytest.param("postgresql://agio:1/secret@127.0.0.1:1/agio", id="a slash in the password"),
        pytest.param("{postgres}", id="no such database"),
    ],
)
async def test_a_database_that_cannot_be_opened_says_so_without_its_password(
    postgres: PostgresServer, url: str
) -> None:
    """S13: the error names the place, never the credentials."""
    url = url.format(postgres=postgres.create_database().replace("@/t_", "@/secret_"))
    with pytest.raises(StoreError) as refusal:
        await open_postgres(url)
    assert refusal.value.code == "store_unavailable"
    assert "agio:" not in str(refusal.value)
    assert "secret@" not in str(refusal.value)


async def _ask(url: str, query: str) -> list[tuple[object, ...]]:
    connection = await connect(url)
    try:
        return sorted(tuple(row) for row in await connection.fetch(query))
    finally:
        await connection.close()
