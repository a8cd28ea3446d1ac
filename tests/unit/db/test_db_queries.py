"""The named queries: all used, all there in both dialects, all on an index."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import apsw
import pytest
from apsw.ext import query_info  # pyright: ignore[reportUnknownVariableType] (apsw has types for part of it)

import agio.db
from agio.db.queries import load_queries, number_parameters, parameters_of
from agio.db.sqlite.connector import Connection
from agio.db.sqlite.database import open_writable

QUERIES = load_queries("sqlite")
SOURCES = sorted(Path(agio.db.__path__[0]).rglob("*.py"))

WHOLE_TABLES = {
    "find_words": "the words of a search, and the index of words",
    "add_agent": "only if a reference to an agent were open, which none ever is",
    "any_account": "one row is enough",
    "any_api_key": "one row is enough",
    "list_worker_keys": "all of them, for the operator",
    "count_secrets": "as many rows as there are keys and secret headers, when a gateway starts",
    "applied_migrations": "the schema",
    "count_tables": "the schema",
    "has_migrations": "the schema",
    "newest_run_at": "one row is enough",
    "revoke_made_keys": "what it has gathered itself: the keys that one key led to",
    "read_tail": "at the start, what is read is what is needed",
}
"""Queries that read a table from end to end, and why that is little."""
SORTED = {
    "find_times": "the passages of a time",
    "find_vectors": "the passages of a place, by their distance",
    "find_words": "the passages with a word of a search, by their words",
    "library_documents": "the documents of collections",
    "whole_library": "the documents of collections, which fit into a prompt",
    "outline": "the headings of a version",
    "passages_of_run": "the passages that a run began with",
    "sessions_of_agent": "the sessions of an agent, once",
    "running_runs": "those that run, over all tenants",
    "active_runs": "those of a session that have not ended",
    "list_runs_of_session": "the runs of a session",
    "list_runs_of_session_and_agent": "the runs of a session",
    "find_runs_of_session": "the runs of a session",
    "find_runs_going_on": "those of a tenant that have not ended",
    "message_of_run": "the messages of a run",
    "path_to": "the runs of a path since its first branch",
    "find_messages": "the ids asked for",
    "tools_of_agents": "the tools of a page of agents",
    "list_tool_executions": "the calls of a run",
    "list_members": "the users of a tenant",
    "list_tenant_api_keys": "the keys of a tenant",
    "memberships": "the teams of an account",
    "name_agents": "the agents of a tenant",
}
"""Queries that sort what they found, and what that is."""
WHAT_GOES_ON = re.compile(
    "INDEX (one_running_run|runs_queued|runs_waiting|jobs_due|jobs_dead|deleted_documents|deleted_collections|"
    "unfinished_versions)"
)
"""Indexes of runs and jobs that have not ended well, and of deletions, which may be read from end to end."""


def test_every_query_is_used_and_every_used_query_exists() -> None:
    """L10: the .sql files and the code that runs them do not drift apart."""
    text = "\n".join(path.read_text("utf-8") for path in SOURCES)
    known = set(QUERIES) | set(load_queries("postgres"))
    named = set(re.findall(r'"(\w+)"', text))
    asked = set(re.findall(r'\bask(?:_one|_query)?\(\s*(?:connection,\s*)?"(\w+)"', text))
    assert known - named == set()
    assert asked - known == set()


def test_rows_are_read_by_name() -> None:
    """L10: no column is known by its number, but the first of a query that selects one."""
    connection, _ = open_writable(None)
    for path in SOURCES:
        tree = ast.parse(path.read_text("utf-8"))
        for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
            asked = dict(_asked_rows(function))
            for name, index in _indexed(function):
                if name == "row" or name in asked:
                    assert index == "0", f"{path.name}: {name}[{index}]"
                    columns = _columns(connection, asked[name]) if name in asked else 1
                    assert columns == 1, (
                        f"{path.name}: {name}[0] of {asked[name]}, which has {columns} columns"
                    )


def _asked_rows(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """The names that `ask_one` rows are given, and the queries they come from."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(
                targets=[ast.Name(name)],
                value=ast.YieldFrom(ast.Call(ast.Name("ask_one"), [ast.Constant(str(query))])),
            ):
                yield name, query
            case _:
                pass


def _indexed(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """What has an index or is unpacked with a rest, and the index."""
    for node in ast.walk(function):
        match node:
            case ast.Subscript(ast.Name(name), index):
                yield name, ast.unparse(index)
            case ast.Starred(ast.Name(name)):
                yield name, "*"
            case _:
                pass


def _columns(connection: Connection, query: str) -> int:
    info = query_info(cast("apsw.Connection", connection), QUERIES[query], actions=False, explain=False)
    return len(info.description)


def test_both_dialects_answer_the_same_plans() -> None:
    """B2: whatever a plan asks is asked of SQLite and of Postgres alike, with the same values."""
    postgres = load_queries("postgres")
    for path in SOURCES:
        if path.parent.name == "plans":
            for name in re.findall(r'\bask(?:_one)?\(\s*"(\w+)"', path.read_text("utf-8")):
                assert set(parameters_of(QUERIES[name])) == set(parameters_of(postgres[name])), name


def test_no_sql_hides_in_python() -> None:
    """L10: SQL lives in .sql files; Python says only begin, commit, rollback, savepoint and lock."""
    statement = re.compile(
        r'[^"]"\s*(select (?!pg_(try_)?advisory)|(insert|update|delete|create|drop|alter|with)\s)',
        re.IGNORECASE,
    )
    for path in SOURCES:
        assert not statement.search(path.read_text("utf-8")), path


def test_parameters_are_numbered_by_name() -> None:
    """B2: the same name is the same number; casts, quotes and times stay as they are."""
    query = "select ':a', x::bigint, \"b:c\" from t where a = :a and b = :b_2 and c = :a and d = 'it''s :x'"
    numbered = number_parameters(query)
    assert numbered.sql == (
        "select ':a', x::bigint, \"b:c\" from t where a = $1 and b = $2 and c = $1 and d = 'it''s :x'"
    )
    assert numbered.names == ("a", "b_2")


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_a_query_finds_its_rows_by_index_without_sorting(name: str) -> None:
    """L10: reads and lists stay fast however many runs there are."""
    connection, _ = open_writable(None)
    plan = _plan(connection, QUERIES[name])
    connection.close()
    scans = [
        line
        for line in plan
        if re.match("SCAN (?!json_each|CONSTANT|path)", line) and not WHAT_GOES_ON.search(line)
    ]
    assert bool(scans) == (name in WHOLE_TABLES), plan
    sorts = [line for line in plan if "TEMP B-TREE FOR ORDER" in line or "TEMP B-TREE FOR LAST" in line]
    assert bool(sorts) == (name in SORTED), plan


def test_old_sessions_are_looked_for_where_a_tenant_wants_it() -> None:
    """C5: of the tenant's users, and by index what is old."""
    connection, _ = open_writable(None)
    plan = _plan(connection, QUERIES["old_sessions"])
    connection.close()
    assert [line for line in plan if line.startswith("SCAN")] == []
    assert any(re.match(r"SEARCH s .*sessions_of_user .*updated_at<", line) for line in plan), plan


def _plan(connection: Connection, query: str) -> list[str]:
    if not re.match("(select|insert|update|delete|with)", query):
        return []
    values = dict.fromkeys(parameters_of(query))
    return [str(row[3]) for row in connection.execute(f"explain query plan {query}", values).fetchall()]
