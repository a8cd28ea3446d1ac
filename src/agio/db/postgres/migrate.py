"""Moves a Postgres database's schema up and down, one process at a time."""

import msgspec

from agio.db.migrations import check_applied, load_migrations
from agio.db.postgres.driver import Connection, connect
from agio.db.postgres.errors import opening_error, postgres_error, where
from agio.db.postgres.plans import ask_query
from agio.errors import StoreError

LOCK = 0x6167696F
"""The advisory lock of migrations: `agio` in ASCII."""
MIGRATION_TIMEOUT_S = 3600.0


async def migrate_database(url: str, to: int | None = None) -> None:
    """Bring a database to version `to` (the newest by default), each step in its own transaction.

    Raises StoreError `store_newer`, `store_prerelease`, `store_corrupt`, `store_unavailable`, `store_failed`.
    """
    try:
        connection = await connect(url)
    except Exception as error:
        raise opening_error(error, url) from error
    try:
        await connection.execute("set statement_timeout = 0")
        await connection.execute(f"select pg_advisory_lock({LOCK})", timeout=MIGRATION_TIMEOUT_S)
        await _migrate(connection, url, to)
    except Exception as error:
        raise postgres_error(error, url) from error
    finally:
        await connection.close()


async def check_schema(connection: Connection, url: str) -> int:
    """The database's schema version; 0 if it has no tables of agio.

    Raises StoreError as `check_applied` does, and `store_corrupt` if another program has a table `schema_migrations`.
    """
    [(ours,)] = await ask_query(connection, "has_migrations", {})
    if ours is None:
        return 0
    if not ours:
        raise StoreError(
            "store_corrupt",
            f"The database {where(url)} has the tables of another program. Use another database or schema.",
        )
    rows = await ask_query(connection, "applied_migrations", {})
    return check_applied(msgspec.convert(rows, list[tuple[int, str]]), "postgres", where(url))


async def _migrate(connection: Connection, url: str, to: int | None) -> None:
    migrations = load_migrations("postgres")
    target = migrations[-1].version if to is None else to
    current = await check_schema(connection, url)
    await ask_query(connection, "create_migrations", {})
    for step in migrations:
        if current < step.version <= target:
            await connection.execute("begin")
            await connection.execute(step.up, timeout=MIGRATION_TIMEOUT_S)
            await ask_query(connection, "add_migration", {"version": step.version, "name": step.name})
            await connection.execute("commit")
    for step in reversed(migrations):
        if target < step.version <= current:
            await connection.execute("begin")
            await connection.execute(step.down, timeout=MIGRATION_TIMEOUT_S)
            await ask_query(connection, "remove_migration", {"version": step.version})
            await connection.execute("commit")
