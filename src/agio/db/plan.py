"""Transactions written once for both databases: a plan is a generator that yields named queries and receives rows.

SQLite runs a plan in the writer's thread, inside the batch that is being committed; Postgres awaits each
query on a connection in a transaction. A plan that raises has changed nothing. A plan may be made and run
again from its beginning; `Hold` and `Forget` take effect when it has returned.
"""

from collections.abc import Generator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from msgspec import Struct

from agio.protocol.frames import Frame

T = TypeVar("T")
Row: TypeAlias = Sequence[object]
Rows: TypeAlias = Sequence[Row]


class Ask(Struct, frozen=True):
    """Run a named query; the answer is its rows."""

    query: str
    values: Mapping[str, object]


class Each(Struct, frozen=True):
    """Run a named query for each of these values, in their order; the answer is empty."""

    query: str
    values: Sequence[Mapping[str, object]]


class Hold(Struct, frozen=True):
    """The run is running under this claim from now on. `frame` is its first frame, if it has no event yet."""

    run_id: str
    epoch: int
    last_seq: int
    frame: Frame | None = None


class Forget(Struct, frozen=True):
    """The run was deleted: later appends to it are refused."""

    run_id: str


class Head(Struct, frozen=True):
    """Ask for a running run's head: a row (epoch, last_seq), or no row if the run is not running in this store.

    On SQLite a running run's row is behind its log. A database whose row is always current answers no row.
    """

    run_id: str


class Events(Struct, frozen=True):
    """Ask for a run's events after seq `after` and up to `upto`, which are in the log.

    The answer is rows of payloads (bytes,): complete JSON lines, oldest first, from event after + 1. With
    `limit_bytes` it may stop after so many bytes, but returns at least one event.
    """

    run_id: str
    after: int
    upto: int
    limit_bytes: int | None = None


Step: TypeAlias = Ask | Each | Hold | Forget | Head | Events
Plan: TypeAlias = Generator[Step, Rows, T]


def ask(query: str, **values: object) -> Plan[Rows]:
    """Run a named query and return its rows: `rows = yield from ask("get_agent", tenant=..., id=...)`."""
    return (yield Ask(query, values))


def ask_one(query: str, **values: object) -> Plan[Row | None]:
    """Run a named query and return its first row, None if it has none."""
    rows = yield Ask(query, values)
    return rows[0] if rows else None
