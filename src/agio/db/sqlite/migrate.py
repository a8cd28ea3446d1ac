"""Moves a store's schema up and down through the numbered files of `sql/<dialect>/`."""

import re
from functools import cache

import msgspec
from msgspec import Struct

from agio.db.queries import SQL_FOLDER, load_queries
from agio.db.records import now_ms
from agio.db.sqlite.connector import Connection

_FILE = re.compile(r"(\d{3})_(\w+)\.up\.sql")


class Migration(Struct, frozen=True):
    """One step of the schema: the SQL that makes it and the SQL that takes it back."""

    version: int
    name: str
    up: str
    down: str


@cache
def load_migrations(dialect: str) -> tuple[Migration, ...]:
    """Read a dialect's migrations in order."""
    found: list[Migration] = []
    for path in sorted((SQL_FOLDER / dialect).glob("*.up.sql")):
        match = _FILE.fullmatch(path.name)
        if match is None:
            raise ValueError(f"A migration is named NNN_name.up.sql, not {path.name}.")
        down = path.with_name(f"{match[1]}_{match[2]}.down.sql")
        found.append(
            Migration(
                int(match[1]), match[2], path.read_text(encoding="utf-8"), down.read_text(encoding="utf-8")
            )
        )
    return tuple(found)


def known_version(dialect: str) -> int:
    """The newest schema this agio knows."""
    return load_migrations(dialect)[-1].version


def schema_version(connection: Connection) -> int:
    """The schema a SQLite store has; 0 if it has none."""
    queries = load_queries("sqlite")
    if not connection.execute(queries["has_migrations"]).get:
        return 0
    return msgspec.convert(connection.execute(queries["schema_version"]).get, int)


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
