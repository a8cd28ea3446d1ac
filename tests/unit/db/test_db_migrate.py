"""The schema goes up, down and up again."""

from pathlib import Path
from typing import cast

import apsw
import msgspec

from agio.core.store.repository import Append, ToolRecord
from agio.db.migrations import known_version, load_migrations
from agio.db.repository import open_store
from agio.db.sqlite.connector import Connection
from agio.db.sqlite.database import APPLICATION_ID
from agio.db.sqlite.live import pack_frames
from agio.db.sqlite.migrate import migrate, schema_version
from agio.protocol.frames import Frame
from tests.contract.repository.backends import turn

LINE = b'{"type":"CUSTOM","name":"note","value":1}\n'


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


async def test_a_store_of_runs_is_carried_over(tmp_path: Path) -> None:
    """C1: threads become sessions, agents' names agents; logs, turns, tools and running runs are as they were."""
    path = tmp_path / "agio.db"
    _store_of_runs(path)
    store = await open_store(path)
    assert [(run.run_id, run.thread_id, run.agent) for run in await store.list_runs()] == [
        ("r3", "t2", "b"),
        ("r2", "t1", "b"),
        ("r1", "t1", "a"),
    ]
    assert (await store.get_log("r1")).payload == LINE
    assert (await store.get_log("r1")).turns == [turn("r1", 1, 1)]
    assert await store.begin_tool("r1", "k") == ToolRecord("done")
    session = await store.get_session("default", "local", "t1")
    assert (session.title, session.agent_name, session.last_run_id, session.last_pos) == ("one", "a", "r2", 3)
    assert session.seen_pos == 3
    agents = (await store.list_agents("default")).items
    assert [(agent.name, agent.source, agent.status) for agent in agents] == [
        ("a", "library", "inactive"),
        ("b", "library", "inactive"),
    ]
    failed = await store.get_run("r2")
    assert (failed.error_code, failed.error_message, failed.usage_partial) == ("model_down", None, None)
    running = await store.get_run("r3")
    assert (running.status, running.last_seq, running.tenant, running.user) == ("running", 2, "acme", "ann")
    assert await store.get_user("acme", "ann") == ("ann", "member")
    await store.append(Append(Frame("r3", 1, 3, 1, LINE), (), "completed"))
    assert (await store.get_log("r3")).payload == LINE * 3
    await store.close()

    connection = _connect(path)
    migrate(connection, to=1)
    kept = connection.execute(
        "select run_id, thread_id, agent, status, last_seq from runs order by id"
    ).fetchall()
    assert kept == [
        ("r1", "t1", "a", "completed", 1),
        ("r2", "t1", "b", "failed", 2),
        ("r3", "t2", "b", "completed", 3),
    ]
    assert connection.execute("select count(*) from logs").get == 3
    connection.close()


def _store_of_runs(path: Path) -> None:
    """A store as it was before there was a server, with a run that is running."""
    connection = _connect(path)
    connection.pragma("application_id", APPLICATION_ID)
    migrate(connection, to=1)
    run = "insert into runs values (?, ?, ?, ?, 'm', ?, 1, ?, ?, ?, 'mark', ?, ?, ?, ?, ?)"
    local = ("default", "local")
    connection.execute(run, (1, "r1", "t1", "a", "completed", 1, 5, 6, *local, 0, None, "one"))
    connection.execute(run, (2, "r2", "t1", "b", "failed", 2, 7, 8, *local, 1, "model_down", "two"))
    connection.execute(run, (3, "r3", "t2", "b", "running", 0, 9, None, "acme", "ann", 0, None, "three"))
    log = "insert into logs values (?, ?, ?, ?)"
    connection.execute(log, ("r1", 1, 1, LINE))
    connection.execute(log, ("r2", 1, 2, LINE * 2))
    connection.execute("insert into tail values (1, ?)", (pack_frames([Frame("r3", 1, 1, 2, LINE * 2)]),))
    connection.execute("insert into turns values ('r1', 1, 1, ?)", (msgspec.json.encode(turn("r1", 1, 1)),))
    connection.execute("insert into tool_calls values ('r1', 'k', 'finished', ?, null)", (b'"done"',))
    connection.close()


def _connect(path: Path) -> Connection:
    connection = cast("Connection", apsw.Connection(str(path)))
    connection.pragma("foreign_keys", "on")
    return connection
