"""Transactions written once for both databases: a plan asks named queries and is told their rows.

SQLite runs a plan in the writer's thread, inside the batch that is being committed; Postgres awaits each
query on a connection in a transaction. A plan that raises has changed nothing. A plan may be made and run
again from its beginning; what `Hold` and `Forget` say counts when it has returned.
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


class Each(Struct, frozen=True):
    """Run a named query for each of these values, in their order; no rows come back."""

    query: str
    values: Sequence[Mapping[str, object]]


class Hold(Struct, frozen=True):
    """A run is running under this claim from here on. `frame` is its first, if it has no event yet."""

    run_id: str
    epoch: int
    last_seq: int
    frame: Frame | None = None


class Forget(Struct, frozen=True):
    """A run was deleted: whoever still writes to it is refused."""

    run_id: str


class Head(Struct, frozen=True):
    """Ask how far a running run is: a row (epoch, last_seq); none if it is not known to be running.

    On SQLite the run's row is behind the log while it runs. Where the row is always right, none may be said.
    """

    run_id: str


class Events(Struct, frozen=True):
    """Ask for a run's events after seq `after` and up to `upto`, which are in the log.

    The answer is rows of payloads (bytes,): the events' whole JSON lines, oldest first, the first row beginning
    with event after + 1. With `limit_bytes` it may stop after so many bytes, but not before one event.
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
