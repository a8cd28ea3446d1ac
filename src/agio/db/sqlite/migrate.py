"""Moves a SQLite store's schema up and down through the migrations."""

import msgspec

from agio.db.migrations import load_migrations
from agio.db.queries import load_queries
from agio.db.records import now_ms
from agio.db.sqlite.connector import Connection


def applied_migrations(connection: Connection) -> list[tuple[int, str]]:
    """The versions and names of the migrations that a store has, sorted by version."""
    queries = load_queries("sqlite")
    if not connection.execute(queries["has_migrations"]).get:
        return []
    return msgspec.convert(
        connection.execute(queries["applied_migrations"]).fetchall(), list[tuple[int, str]]
    )


def schema_version(connection: Connection) -> int:
    """The schema a SQLite store has; 0 if it has none."""
    return max((version for version, _ in applied_migrations(connection)), default=0)


def migrate(connection: Connection, to: int | None = None) -> None:
    """Bring a SQLite store to version `to` (the newest by default), each step in its own transaction."""
    queries = load_queries("sqlite")
    migrations = load_migrations("sqlite")
    target = migrations[-1].version if to is None else to
    connection.execute(queries["create_migrations"])
    current = schema_version(connection)
    for step in migrations:
        if current < step.version <= target:
            with connection:
                connection.execute(step.up)
                applied = {"version": step.version, "name": step.name, "now": now_ms()}
                connection.execute(queries["add_migration"], applied)
    for step in reversed(migrations):
        if target < step.version <= current:
            with connection:
                connection.execute(step.down)
                connection.execute(queries["remove_migration"], {"version": step.version})
