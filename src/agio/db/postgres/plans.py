"""Runs plans on a Postgres connection: each named query is awaited, the log is the table `frames`."""

from collections.abc import Mapping
from functools import cache
from typing import TypeVar, assert_never, cast

from agio.db.packing import LogRow
from agio.db.plan import Ask, Each, Events, Forget, Head, Hold, Plan, Row, Rows, Step
from agio.db.postgres.driver import Connection
from agio.db.queries import Numbered, load_queries, number_parameters
from agio.db.rows import as_row
from agio.protocol.frames import Frame, cut_lines, first_lines

T = TypeVar("T")

PAGE_ROWS = 16
MOST_PAGE_ROWS = 256
"""How many rows the first query of a read returns, and each later one at most: the frames of a running run are small,
blocks are not."""


async def run_plan(connection: Connection, plan: Plan[T]) -> T:
    """Run a plan to its end. Raises what the plan raises, and what asyncpg raises."""
    try:
        step = next(plan)
        while True:
            step = plan.send(await run_step(connection, step))
    except StopIteration as done:
        return done.value
    finally:
        plan.close()


async def ask_query(connection: Connection, name: str, values: Mapping[str, object]) -> list[Row]:
    """Run a named query."""
    query = _numbered()[name]
    found = await connection.fetch(query.sql, *[_clean(values[name]) for name in query.names])
    return [tuple(row) for row in found]


async def read_events(connection: Connection, step: Events) -> list[tuple[bytes]]:
    """The payloads of a run's frames, as `Events` says."""
    payloads: list[tuple[bytes]] = []
    after, left, limit = step.after, step.limit_bytes, PAGE_ROWS
    while after < step.upto:
        asked = {"run_id": step.run_id, "after": after, "upto": step.upto, "limit": limit}
        rows = await ask_query(connection, "read_frames", asked)
        for row in rows:
            log = as_row(LogRow, row)
            # A run that ends between two queries has blocks that begin before `after`.
            lines = cut_lines(log.lines, log.first_seq, log.last_seq, after, step.upto)
            if left is not None and len(lines) >= left:
                return [*payloads, (first_lines(lines, left),)]
            payloads.append((lines,))
            after = log.last_seq
            left = None if left is None else left - len(lines)
        if len(rows) < limit:
            break
        limit = min(2 * limit, MOST_PAGE_ROWS)
    return payloads


async def store_frame(connection: Connection, frame: Frame) -> None:
    """Add the next frame of a run."""
    given = {
        "run_id": frame.run_id,
        "epoch": frame.epoch,
        "first_seq": frame.first_seq,
        "last_seq": frame.last_seq,
        "payload": frame.payload,
    }
    await ask_query(connection, "store_frame", given)


async def run_step(connection: Connection, step: Step) -> Rows:
    """Answer one step of a plan."""
    match step:
        case Ask(name, values):
            return await ask_query(connection, name, values)
        case Each(name, many):
            query = _numbered()[name]
            rows = [[_clean(values[name]) for name in query.names] for values in many]
            await connection.executemany(query.sql, rows)
            return ()
        case Events():
            return await read_events(connection, step)
        case Hold(frame=Frame() as frame):
            await store_frame(connection, frame)
            return ()
        case Hold() | Head() | Forget():
            return ()
        case _:
            assert_never(step)


@cache
def _numbered() -> Mapping[str, Numbered]:
    return {name: number_parameters(sql) for name, sql in load_queries("postgres").items()}


def _clean(value: object) -> object:
    """Postgres's text cannot hold NUL, nor half of a surrogate pair."""
    match value:
        case str():
            if "\0" in value:
                value = value.replace("\0", "\ufffd")
            return value if value.isascii() else value.encode("utf-8", "replace").decode()
        case list():
            return [_clean(item) for item in cast("list[object]", value)]
        case _:
            return value
