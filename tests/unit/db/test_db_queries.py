"""The named queries: all used, all there, all on an index."""

import re
from pathlib import Path

import pytest

import agio.db
from agio.db.connector import Connection
from agio.db.queries import load_queries
from agio.db.sqlite import open_writable

QUERIES = load_queries("sqlite")


def test_every_query_is_used_and_every_used_query_exists() -> None:
    """L10: queries.sql and the code that runs it do not drift apart."""
    used: set[str] = set()
    for path in Path(agio.db.__path__[0]).glob("*.py"):
        used |= set(re.findall(r'(?:queries|load_queries\("sqlite"\))\["(\w+)"\]', path.read_text("utf-8")))
    assert used == set(QUERIES)


def test_no_sql_hides_in_python() -> None:
    """L10: SQL lives in .sql files; Python says only begin, commit and rollback."""
    statement = re.compile(r'[^"]"\s*(select|insert|update|delete|create|drop|alter|with)\s', re.IGNORECASE)
    for path in Path(agio.db.__path__[0]).glob("*.py"):
        assert not statement.search(path.read_text("utf-8")), path


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("list_runs", "INTEGER PRIMARY KEY"),
        ("list_runs_of_thread", "INDEX runs_of_thread"),
        ("list_runs_of_agent", "INDEX runs_of_agent"),
        ("list_runs_of_thread_and_agent", "INDEX runs_of_thread"),
        ("newest_run_of_thread", "INDEX runs_of_thread"),
        ("running_runs", "INDEX runs_running"),
        ("get_run", "INDEX sqlite_autoindex_runs_1"),
        ("place_of_run", "INDEX sqlite_autoindex_runs_1"),
        ("end_run", "INDEX sqlite_autoindex_runs_1"),
        ("move_last_seq", "INDEX sqlite_autoindex_runs_1"),
        ("claim_run", "INDEX sqlite_autoindex_runs_1"),
        ("read_logs", "INDEX sqlite_autoindex_logs_1"),
        ("read_turns", "INDEX sqlite_autoindex_turns_1"),
        ("get_tool", "INDEX sqlite_autoindex_tool_calls_1"),
        ("trim_tail", "INTEGER PRIMARY KEY"),
    ],
)
def test_a_query_finds_its_rows_by_index_without_sorting(name: str, index: str) -> None:
    """L10: reads and lists stay fast however many runs there are."""
    connection, _ = open_writable(None)
    plan = _plan(connection, QUERIES[name])
    connection.close()
    assert index in plan
    assert "TEMP B-TREE" not in plan


def _plan(connection: Connection, query: str) -> str:
    rows = connection.execute(f"explain query plan {query}", [None] * query.count("?")).fetchall()
    return "\n".join(str(row[3]) for row in rows)
