"""Every query of the Postgres store finds its rows by an index, in a store that has some."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agio.db.postgres.driver import Connection, connect
from agio.db.queries import load_queries, number_parameters

QUERIES = load_queries("postgres")
SMALL = {
    "attempts",
    "cluster",
    "gateways",
    "run_inputs",
    "trace_exports",
    "trace_queue",
    *(
        "schema_migrations",
        "tenants",
        "users",
        "api_keys",
        "web_sessions",
        "agents",
        "agent_tools",
        "accounts",
    ),
    *(
        "memberships",
        "identities",
        "sign_in_links",
        "sign_in_flows",
        "invitations",
        "worker_keys",
        "providers",
        "mcp_servers",
        "mcp_tools",
        "mcp_connections",
    ),
    *("secrets", "profiles", "agent_tool_assignments", "forks", "leases"),
}
"""Tables that have few rows, here or always."""
WHOLE = re.compile(r"Seq Scan on (\w+)")


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[Connection]:
    """A database with thousands of runs, and what Postgres knows of them."""
    connection = await connect(postgres_url)
    await connection.execute(Path(__file__).with_name("full_store.sql").read_text("utf-8"))
    await connection.execute("set plan_cache_mode = force_generic_plan")
    yield connection
    await connection.close()


async def test_no_query_reads_a_large_table_from_end_to_end(database: Connection) -> None:
    """C1: whatever is listed or looked up is on an index, compared as the index is."""
    for name, query in QUERIES.items():
        plan = await _plan(database, name, query)
        assert [table for table in WHOLE.findall(plan) if table not in SMALL] == [], f"{name}\n{plan}"


async def _plan(database: Connection, name: str, query: str) -> str:
    if query.startswith("create"):
        return ""
    numbered = number_parameters(query)
    await database.execute(f"prepare {name}_plan as {numbered.sql}")
    values = ", ".join("null" for _ in numbered.names)
    rows = await database.fetch(f"explain execute {name}_plan{f'({values})' if values else ''}")
    return "\n".join(str(line) for (line,) in rows)
