"""Reads runs and logs: `logs` from the file, the newest events of running runs from the writer's memory."""

from collections.abc import Callable, Mapping

import msgspec

from agio.core.repository import RunInfo, RunLog, TurnRecord
from agio.db.connector import Connection
from agio.db.live import LiveRun, new_live_run, skip_lines
from agio.db.records import run_info, turn_record
from agio.errors import UserError

_BEYOND_ALL = 1 << 62


class LogReader:
    """The reads of the port on one connection. `find` gives a running run as of its last commit."""

    def __init__(
        self, connection: Connection, queries: Mapping[str, str], find: Callable[[str], LiveRun | None]
    ) -> None:
        self._execute = connection.execute
        self._queries = queries
        self._find = find

    def get_run(self, run_id: str) -> RunInfo:
        """Raises UserError `run_not_found`."""
        return self._get(run_id)[0]

    def get_log(self, run_id: str, after: int) -> RunLog:
        """The log after event `after`. Raises UserError `run_not_found`."""
        info, live = self._get(run_id)
        logged = info.last_seq if live is None else live.logged_seq
        parts = [self.logged_payload(run_id, after, logged)]
        if live is not None:
            parts.append(live.payload_after(after))
        return RunLog(info, b"".join(parts), self._turns(run_id, after, info.last_seq))

    def list_runs(
        self, thread_id: str | None, agent: str | None, before: str | None, limit: int
    ) -> list[RunInfo]:
        """Runs, newest first. Raises UserError `run_not_found` if there is no run `before`."""
        place = _BEYOND_ALL if before is None else self._place(before)
        page = (place, max(limit, 0))
        if thread_id is not None and agent is not None:
            found = self._execute(self._queries["list_runs_of_thread_and_agent"], (thread_id, agent, *page))
        elif thread_id is not None:
            found = self._execute(self._queries["list_runs_of_thread"], (thread_id, *page))
        elif agent is not None:
            found = self._execute(self._queries["list_runs_of_agent"], (agent, *page))
        else:
            found = self._execute(self._queries["list_runs"], page)
        return [self._current(run_info(row))[0] for row in found.fetchall()]

    def logged_payload(self, run_id: str, after: int, upto: int) -> bytes:
        """The events in `logs` after `after`, up to `upto`, which ends a row."""
        if after >= upto:
            return b""
        rows = msgspec.convert(
            self._execute(self._queries["read_logs"], (run_id, after, upto)).fetchall(),
            list[tuple[int, bytes]],
        )
        return b"".join(
            payload if first_seq > after else skip_lines(payload, after - first_seq + 1)
            for first_seq, payload in rows
        )

    def _get(self, run_id: str) -> tuple[RunInfo, LiveRun | None]:
        row = self._execute(self._queries["get_run"], (run_id,)).fetchone()
        if row is None:
            raise run_not_found(run_id)
        return self._current(run_info(row))

    def _current(self, info: RunInfo) -> tuple[RunInfo, LiveRun | None]:
        if info.status != "running":
            return info, None
        live = self._find(info.run_id)
        if live is None:
            # It ended after the row was read, or it was created and its writer has not yet noted it.
            row = self._execute(self._queries["get_run"], (info.run_id,)).fetchone()
            info = info if row is None else run_info(row)
            live = new_live_run(info.epoch, info.last_seq) if info.status == "running" else None
            return info, live
        return msgspec.structs.replace(info, epoch=live.epoch, last_seq=live.last_seq), live

    def _turns(self, run_id: str, after: int, upto: int) -> list[TurnRecord]:
        rows = self._execute(self._queries["read_turns"], (run_id, after, upto)).fetchall()
        return [turn_record(blob) for (blob,) in msgspec.convert(rows, list[tuple[bytes]])]

    def _place(self, run_id: str) -> int:
        place = self._execute(self._queries["place_of_run"], (run_id,)).get
        if place is None:
            raise run_not_found(run_id)
        return msgspec.convert(place, int)


def run_not_found(run_id: str) -> UserError:
    """The error for an id no run has."""
    return UserError("run_not_found", f"There is no run {run_id}.", {"run_id": run_id})
