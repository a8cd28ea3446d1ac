"""One transaction of the writer: the waiting writes of all runs, each fenced.

A refused write raises before it changes anything. `planned` shadows the writer's memory until the commit.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from agio.core.store.repository import Append
from agio.db.packing import pack
from agio.db.plan import Ask, Events, Forget, Hold, Plan, Rows, Step
from agio.db.plans.runs.log import get_run
from agio.db.plans.runs.runs import create_run, keep_append
from agio.db.refusals import append_conflict, run_ended, sequence_gap, stale_epoch
from agio.db.sqlite.connector import Connection
from agio.db.sqlite.live import LiveRun, LiveRuns, new_live_run, pack_frames
from agio.db.sqlite.reader import LogReader, drive
from agio.errors import AgioError
from agio.protocol.frames import Frame

T = TypeVar("T")

SEGMENT_BYTES = 256 * 1024
"""A running run's frames move from the tail to `logs` above this size."""
TAIL_ROWS = 4096
"""A run whose oldest frame is this many commits old is moved too: a slow run must not keep the tail long."""


class HalfWritten(Exception):
    """A write was refused half-way: the whole batch must be undone, and each write made by itself."""

    def __init__(self, refusal: AgioError) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class Batch:
    """The writes of one commit. Use it from the writer's thread, then `commit` or `rollback`."""

    def __init__(self, connection: Connection, queries: Mapping[str, str], live: LiveRuns) -> None:
        self._connection = connection
        self._execute = connection.execute
        self._queries = queries
        self._live = live
        self._planned: dict[str, LiveRun | None] = {}
        self._tail: dict[str, list[Frame]] = {}
        self._begun = False
        self._released = False

    def run(self, plan: Plan[T]) -> T:
        """Run a plan in this transaction. If it raises, its changes are undone."""
        claims: list[Hold | Forget] = []
        reader = self._reader()

        def answer(step: Step) -> Rows:
            if type(step) is Ask:  # the common case
                return reader.ask(step.query, step.values)
            if isinstance(step, (Hold, Forget)):
                claims.append(step)
                return ()
            return reader.answer(step)

        # Frames stay in memory until the commit, so the first plan needs no savepoint.
        is_first = not self._begun
        if is_first:
            self._begin()
        else:
            self._execute("savepoint plan")
        try:
            result = drive(plan, answer)
        except AgioError:
            if is_first:
                self._execute("rollback")
                self._begun = False
            else:
                self._execute("rollback to plan")
                self._execute("release plan")
            raise
        if not is_first:
            self._execute("release plan")
        for claim in claims:
            if isinstance(claim, Hold):
                self._hold(claim)
            else:
                self._forget(claim.run_id)
        return result

    def append(self, write: Append, turns: Sequence[dict[str, object]] = ()) -> None:
        """Add a frame, and its run if it creates one.

        Raises HalfWritten, StoreError `stale_epoch`, `sequence_gap`, `append_conflict`, `run_ended`, `run_exists`.
        """
        frame = write.frame
        if write.create is not None and not self._repeats_creation(frame):
            self.run(create_run(write.create))
        run = self._find(frame.run_id)
        if run is None:
            return self._repeat_after_end(frame)
        if frame.epoch != run.epoch:
            raise stale_epoch(frame.run_id, run.epoch, frame.epoch)
        if frame.first_seq != run.last_seq + 1:
            return self._repeat(write, run)
        if turns or not write.is_frame_only:
            self._keep(keep_append(write, frame.last_seq, turns))
        if frame.count:
            run = run.grow(frame, self._live.next_tail)
            self._planned[frame.run_id] = run
            self._tail.setdefault(frame.run_id, []).append(frame)
        if write.end is not None:
            self._append_log(frame.run_id, run)
            self._planned[frame.run_id] = None
        elif run.size_bytes > SEGMENT_BYTES:
            self._move_to_logs(frame.run_id, run)
        return None

    def _keep(self, plan: Plan[None]) -> None:
        """Run a plan of rows that is hardly ever refused. A savepoint would copy every page that it changes."""
        self._begin()
        try:
            self._reader().run(plan)
        except AgioError as refusal:
            raise HalfWritten(refusal) from refusal

    def commit(self) -> None:
        """Make everything durable, then visible to readers."""
        live = self._live
        if live.next_tail - live.first_tail > TAIL_ROWS:
            self._release_oldest()
        frames = [frame for written in self._tail.values() for frame in written]
        next_tail = live.next_tail + bool(frames)
        first_tail = live.first_tail
        if self._released:
            self._begin()
        if frames:
            row = {"id": live.next_tail, "frames": pack_frames(frames)}
            self._execute(self._queries["append_tail"], row)
        if self._released:
            needed = [run.tail_from for run in (live.runs | self._planned).values() if run and run.held]
            first_tail = min(needed, default=next_tail)
            if first_tail > live.first_tail:
                self._execute(self._queries["trim_tail"], {"first": first_tail})
        if self._begun:
            self._execute("commit")
        live.first_tail, live.next_tail = first_tail, next_tail
        for run_id, run in self._planned.items():
            if run is None:
                live.runs.pop(run_id, None)
            else:
                live.runs[run_id] = run

    def rollback(self) -> None:
        """Undo everything, in the file and in memory."""
        for run_id in self._planned:
            if (run := self._live.runs.get(run_id)) is not None:
                run.forget_uncommitted()
        if self._connection.in_transaction:
            self._execute("rollback")

    def _begin(self) -> None:
        # A commit of frames only is one statement and needs no explicit transaction.
        if not self._begun:
            self._execute("begin immediate")
            self._begun = True

    def _find(self, run_id: str) -> LiveRun | None:
        return self._planned[run_id] if run_id in self._planned else self._live.runs.get(run_id)

    def _reader(self) -> LogReader:
        return LogReader(self._connection, self._queries, self._find)

    def _hold(self, claim: Hold) -> None:
        run = self._find(claim.run_id)
        if run is None:
            run = new_live_run(claim.epoch, claim.last_seq)
        else:
            run = msgspec.structs.replace(run, epoch=claim.epoch)
        if claim.frame is not None:
            run = run.grow(claim.frame, self._live.next_tail)
            self._tail.setdefault(claim.run_id, []).append(claim.frame)
        self._planned[claim.run_id] = run

    def _forget(self, run_id: str) -> None:
        """Drop a deleted run. Other runs share its tail rows: their frames move to `logs`, to free the rows."""
        self._planned[run_id] = None
        self._tail.pop(run_id, None)
        self._released = True
        for other, run in (self._live.runs | self._planned).items():
            if run is not None and run.held:
                self._move_to_logs(other, run)

    def _repeats_creation(self, frame: Frame) -> bool:
        if not frame.count or not self._reader().ask("place_of_run", {"run_id": frame.run_id}):
            return False
        info = self._reader().run(get_run(frame.run_id))
        return frame.last_seq <= info.last_seq and self._is_stored(frame)

    def _repeat(self, write: Append, run: LiveRun) -> None:
        frame = write.frame
        if frame.first_seq > run.last_seq:
            raise sequence_gap(frame, run.last_seq)
        if frame.last_seq > run.last_seq or write.end is not None or not self._is_stored(frame):
            raise append_conflict(frame, run.last_seq)

    def _repeat_after_end(self, frame: Frame) -> None:
        info = self._reader().run(get_run(frame.run_id))
        if frame.epoch != info.epoch:
            raise stale_epoch(frame.run_id, info.epoch, frame.epoch)
        if frame.last_seq > info.last_seq or not self._is_stored(frame):
            raise run_ended(info)

    def _is_stored(self, frame: Frame) -> bool:
        asked = Events(frame.run_id, frame.first_seq - 1, frame.last_seq)
        return b"".join(self._reader().events(asked)) == frame.payload

    def _move_to_logs(self, run_id: str, run: LiveRun) -> None:
        self._append_log(run_id, run)
        self._execute(self._queries["move_last_seq"], {"run_id": run_id, "last_seq": run.last_seq})
        self._planned[run_id] = new_live_run(run.epoch, run.last_seq)

    def _append_log(self, run_id: str, run: LiveRun) -> None:
        self._begin()
        if run.held:
            lines = run.payload_after(run.logged_seq)
            for values in pack(run_id, run.logged_seq + 1, run.last_seq, lines):
                self._execute(self._queries["put_log"], values)
            self._tail.pop(run_id, None)
        self._released = True

    def _release_oldest(self) -> None:
        current = self._live.runs | self._planned
        waiting = [(run.tail_from, run_id) for run_id, run in current.items() if run and run.held]
        if waiting:
            _, run_id = min(waiting)
            if (run := current[run_id]) is not None:
                self._move_to_logs(run_id, run)
        self._released = True
