"""Answers plans from SQLite: rows from the file, the newest events of running runs from the writer's memory."""

from collections.abc import Callable, Generator, Mapping
from typing import TypeVar

import msgspec

from agio.db.packing import LogRow
from agio.db.plan import Ask, Each, Events, Head, Plan, Rows, Step
from agio.db.rows import as_row
from agio.db.sqlite.connector import Connection
from agio.db.sqlite.live import LiveRun
from agio.protocol.frames import cut_lines, first_lines

T = TypeVar("T")


class LogReader:
    """Reads on one connection. `find` returns a running run as of its last commit."""

    def __init__(
        self, connection: Connection, queries: Mapping[str, str], find: Callable[[str], LiveRun | None]
    ) -> None:
        self._execute = connection.execute
        self._execute_many = connection.executemany
        self._queries = queries
        self._find = find

    def run(self, plan: Plan[T]) -> T:
        """Run a plan that reads. Raises what the plan raises."""
        return drive(plan, self.answer)

    def answer(self, step: Step) -> Rows:
        """Answer one step of a plan that reads."""
        match step:
            case Ask(query, values):
                return self.ask(query, values)
            case Each(query, many):
                self._execute_many(self._queries[query], many)
                return ()
            case Head(run_id):
                run = self._find(run_id)
                return () if run is None else ((run.epoch, run.last_seq),)
            case Events():
                return [(payload,) for payload in self.events(step)]
            case _:
                raise TypeError(f"A plan that reads may not {type(step).__name__.lower()} a run.")

    def ask(self, query: str, values: Mapping[str, object]) -> Rows:
        """Run a named query; nothing happens if it is empty. Lists are bound as JSON."""
        sql = self._queries[query]
        if not sql:
            return ()
        if list in map(type, values.values()):
            values = {name: _bound(given) for name, given in values.items()}
        return self._execute(sql, values).fetchall()

    def events(self, asked: Events) -> Generator[bytes]:
        """The payloads `Events` asks for."""
        live = self._find(asked.run_id)
        left = asked.limit_bytes
        for first_seq, last_seq, payload in self._stored(asked, live):
            part = cut_lines(payload, first_seq, last_seq, asked.after, asked.upto)
            if left is not None and len(part) >= left:
                yield first_lines(part, left)
                return
            yield part
            left = None if left is None else left - len(part)

    def _stored(self, asked: Events, live: LiveRun | None) -> Generator[tuple[int, int, bytes]]:
        logged = asked.upto if live is None else min(live.logged_seq, asked.upto)
        if asked.after < logged:
            values = {"run_id": asked.run_id, "after": asked.after, "upto": logged}
            rows = self._execute(self._queries["read_logs"], values)
            while (row := rows.fetchone()) is not None:
                log = as_row(LogRow, row)
                yield log.first_seq, log.last_seq, log.lines
        for frame in [] if live is None else live.frames[: live.held]:
            if frame.last_seq > asked.after and frame.first_seq <= asked.upto:
                yield frame.first_seq, frame.last_seq, frame.payload


def drive(plan: Plan[T], answer: Callable[[Step], Rows]) -> T:
    """Run a plan to its end."""
    try:
        step = next(plan)
        while True:
            step = plan.send(answer(step))
    except StopIteration as done:
        return done.value
    finally:
        plan.close()


def _bound(value: object) -> object:
    return msgspec.json.encode(value).decode() if isinstance(value, list) else value
