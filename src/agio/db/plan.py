"""Transactions written once for both databases: a plan asks named queries and is told their rows.

SQLite runs a plan in the writer's thread, inside the batch that is being committed; Postgres awaits each
query on a connection in a transaction. A plan that raises has changed nothing.
"""

from collections.abc import Generator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from msgspec import Struct

from agio.protocol.frames import Frame

T = TypeVar("T")
Row: TypeAlias = Sequence[object]
Rows: TypeAlias = Sequence[Row]


class Ask(Struct, frozen=True):
    """Run a named query; its rows come back."""

    query: str
    values: Mapping[str, object]


class Hold(Struct, frozen=True):
    """A run is running under this claim from here on. `frame` is its first, if it has no event yet."""

    run_id: str
    epoch: int
    last_seq: int
    frame: Frame | None = None


class Forget(Struct, frozen=True):
    """A run was deleted: whoever still writes to it is refused."""

    run_id: str


Step: TypeAlias = Ask | Hold | Forget
Plan: TypeAlias = Generator[Step, Rows, T]


def ask(query: str, **values: object) -> Plan[Rows]:
    """Run a named query and return its rows: `rows = yield from ask("get_agent", tenant=..., id=...)`."""
    return (yield Ask(query, values))


def ask_one(query: str, **values: object) -> Plan[Row | None]:
    """Run a named query and return its first row, None if it has none."""
    rows = yield Ask(query, values)
    return rows[0] if rows else None
