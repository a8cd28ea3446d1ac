"""The schema goes up, down and up again; both dialects have the same migrations."""

from pathlib import Path
from typing import cast

import apsw
import pytest

from agio.db.migrations import known_version, load_migrations
from agio.db.repository import open_store
from agio.db.sqlite.connector import Connection
from agio.db.sqlite.database import open_unchecked
from agio.db.sqlite.migrate import migrate, schema_version
from agio.errors import StoreError
from tests.support.backends import begin, finish, frame


def test_up_down_and_up_again_leave_the_same_schema(later_migration: int) -> None:
    """L10: every migration can be taken back, one by one, and taking it back leaves nothing."""
    connection = cast("Connection", apsw.Connection(":memory:"))
    assert schema_version(connection) == 0
    migrate(connection, to=later_migration - 1)
    first = _schema(connection)
    migrate(connection)
    assert schema_version(connection) == known_version("sqlite") == later_migration
    newest = _schema(connection)
    migrate(connection, to=later_migration - 1)
    assert _schema(connection) == first != newest
    migrate(connection, to=0)
    assert schema_version(connection) == 0
    assert [name for _, name, _ in _schema(connection)] == ["schema_migrations"]
    migrate(connection)
    assert _schema(connection) == newest
    connection.close()


def test_migrating_twice_changes_nothing() -> None:
    """L10: a store that is up to date is left alone."""
    connection = cast("Connection", apsw.Connection(":memory:"))
    migrate(connection)
    before = connection.execute("select * from schema_migrations").fetchall()
    migrate(connection)
    assert connection.execute("select * from schema_migrations").fetchall() == before
    connection.close()


def test_a_number_is_the_same_change_in_both_dialects() -> None:
    """L10: the folders have the same numbers and names, and no number is missing or doubled."""
    sqlite = [(step.version, step.name) for step in load_migrations("sqlite")]
    assert sqlite == [(step.version, step.name) for step in load_migrations("postgres")]
    assert [version for version, _ in sqlite] == list(range(1, len(sqlite) + 1))


async def test_packed_logs_forbid_the_schema_before_them(tmp_path: Path) -> None:
    """L10: taking the migration back would make them unreadable, so it fails and changes nothing."""
    path = tmp_path / "agio.db"
    store = await open_store(path)
    await begin(store, "r1")
    await finish(store, "r1", 1)
    await store.close()
    connection = open_unchecked(path)
    before = next(step.version for step in load_migrations("sqlite") if step.name == "packed_logs") - 1
    with pytest.raises(apsw.ConstraintError):
        migrate(connection, to=before)
    connection.close()
    store = await open_store(path)
    assert (await store.get_log("r1")).payload == frame("r1", 1, 1).payload
    await store.close()


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("newest", [1, 7])
async def test_a_store_of_the_earlier_numbering_is_refused(
    tmp_path: Path, read_only: bool, newest: int
) -> None:
    """L10: version 1 was `runs` before 0.1.0; such a store is not touched, and the message says what to do."""
    path = tmp_path / "agio.db"
    await (await open_store(path)).close()
    connection = open_unchecked(path)
    connection.execute("delete from schema_migrations")
    for version in range(1, newest + 1):
        name = "runs" if version == 1 else "earlier"
        connection.execute("insert into schema_migrations values (?, ?, 0)", (version, name))
    connection.close()
    with pytest.raises(StoreError, match="store_prerelease") as refusal:
        await open_store(path, read_only=read_only)
    assert "Start with an empty data folder" in refusal.value.message


def _schema(connection: Connection) -> list[tuple[object, ...]]:
    query = "select type, name, sql from sqlite_schema where sql is not null order by type, name"
    return connection.execute(query).fetchall()
