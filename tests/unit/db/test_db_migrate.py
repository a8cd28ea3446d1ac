"""The schema goes up, down and up again."""

from typing import cast

import apsw

from agio.db.connector import Connection
from agio.db.migrate import known_version, load_migrations, migrate, schema_version


def test_up_down_and_up_again_leave_the_same_schema() -> None:
    """L10: every migration can be taken back, and taking it back leaves nothing."""
    connection = cast("Connection", apsw.Connection(":memory:"))
    assert schema_version(connection) == 0
    migrate(connection)
    assert schema_version(connection) == known_version("sqlite")
    first = _schema(connection)
    migrate(connection, to=0)
    assert schema_version(connection) == 0
    assert [name for _, name, _ in _schema(connection)] == ["schema_migrations"]
    migrate(connection)
    assert _schema(connection) == first
    connection.close()


def test_migrating_twice_changes_nothing() -> None:
    """L10: a store that is up to date is left alone."""
    connection = cast("Connection", apsw.Connection(":memory:"))
    migrate(connection)
    before = connection.execute("select * from schema_migrations").fetchall()
    migrate(connection)
    assert connection.execute("select * from schema_migrations").fetchall() == before
    connection.close()


def test_versions_count_up_from_one() -> None:
    """L10: no migration is missing or doubled."""
    versions = [step.version for step in load_migrations("sqlite")]
    assert versions == list(range(1, len(versions) + 1))


def _schema(connection: Connection) -> list[tuple[object, ...]]:
    query = "select type, name, sql from sqlite_schema where sql is not null order by type, name"
    return connection.execute(query).fetchall()
