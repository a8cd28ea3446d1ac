"""One transaction of the writer: the writes of all runs that were waiting, fenced one by one.

A refused write raises before it changes anything. `planned` shadows the writer's memory until the commit.
"""

import time
from collections.abc import Mapping

import msgspec

from agio.core.repository import Append, NewRun, RunInfo, ToolRecord
from agio.db.connector import Connection
from agio.db.live import LiveRun, LiveRuns, new_live_run, pack_frames
from agio.db.reader import LogReader
from agio.db.records import tool_record
from agio.errors import StoreError
from agio.protocol.frames import Frame

SEGMENT_BYTES = 256 * 1024
"""A running run's frames move from the tail to `logs` when they pass this."""
TAIL_ROWS = 4096
"""A run whose oldest frame is this many commits old is moved too: a slow run must not keep the tail long."""


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

    def create_run(self, run: NewRun) -> RunInfo:
        """Add a running run. Raises StoreError `run_exists`, `thread_busy`."""
        if self._exists(run.run_id):
            raise StoreError("run_exists", f"There is already a run {run.run_id}.", {"run_id": run.run_id})
        info = RunInfo(
            **msgspec.structs.asdict(msgspec.structs.replace(run, created_at=run.created_at or _now_ms())),
            status="running",
            last_seq=0,
            ended_at=None,
            first_pos=self._thread_end(run.thread_id),
        )
        self._begin()
        self._execute(self._queries["create_run"], msgspec.structs.asdict(info))
        self._planned[run.run_id] = new_live_run(run.epoch)
        return info

    def claim_run(self, run_id: str) -> RunInfo:
        """Raise the epoch of a running run. Raises UserError `run_not_found`, StoreError `run_ended`."""
        run = self._find(run_id)
        if run is None:
            raise _run_ended(self._reader().get_run(run_id))
        run = msgspec.structs.replace(run, epoch=run.epoch + 1)
        self._begin()
        self._execute(self._queries["claim_run"], (run.epoch, run_id))
        self._planned[run_id] = run
        return self._reader().get_run(run_id)

    def append(self, write: Append, turns: list[tuple[str, int, int, bytes]]) -> None:
        """Add a frame, and its run if it creates one.

        Raises StoreError `stale_epoch`, `sequence_gap`, `append_conflict`, `run_ended`, `run_exists`.
        """
        frame = write.frame
        if write.create is not None and not self._repeats_creation(frame):
            self.create_run(write.create)
        run = self._find(frame.run_id)
        if run is None:
            return self._repeat_after_end(frame)
        if frame.epoch != run.epoch:
            raise _stale(frame, run.epoch)
        if frame.first_seq != run.last_seq + 1:
            return self._repeat(write, run)
        if frame.count:
            run = run.grow(frame, self._live.next_tail)
            self._planned[frame.run_id] = run
            self._tail.setdefault(frame.run_id, []).append(frame)
        if turns or write.begins:
            self._begin()
            for turn in turns:
                self._execute(self._queries["put_turn"], turn)
            for key in write.begins:
                self._execute(self._queries["begin_tool"], (frame.run_id, key))
        if write.end is not None:
            self._end(write, run)
        elif run.size_bytes > SEGMENT_BYTES:
            self._move_to_logs(frame.run_id, run)
        return None

    def begin_tool(self, run_id: str, key: str) -> ToolRecord | None:
        """Record that a call begins, or return what is known of it. Raises as `claim_run` does."""
        known = self._execute(self._queries["get_tool"], (run_id, key)).fetchone()
        if known is not None:
            return tool_record(known)
        if self._find(run_id) is None:
            raise _run_ended(self._reader().get_run(run_id))
        self._begin()
        self._execute(self._queries["begin_tool"], (run_id, key))
        return None

    def end_tool(self, run_id: str, key: str, content: bytes | None, error: str | None) -> None:
        """Record a call's result; the first one stays. Raises UserError `run_not_found`."""
        self._reader().get_run(run_id)
        self._begin()
        self._execute(self._queries["end_tool"], (run_id, key, content, error))

    def commit(self) -> None:
        """Make everything durable, then let readers see it."""
        live = self._live
        if live.next_tail - live.first_tail > TAIL_ROWS:
            self._release_oldest()
        frames = [frame for written in self._tail.values() for frame in written]
        next_tail = live.next_tail + bool(frames)
        first_tail = live.first_tail
        if self._released:
            self._begin()
        if frames:
            self._execute(self._queries["append_tail"], (live.next_tail, pack_frames(frames)))
        if self._released:
            needed = [run.tail_from for run in (live.runs | self._planned).values() if run and run.held]
            first_tail = min(needed, default=next_tail)
            if first_tail > live.first_tail:
                self._execute(self._queries["trim_tail"], (first_tail,))
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
        # A commit of nothing but frames is one statement and needs no transaction around it.
        if not self._begun:
            self._execute("begin immediate")
            self._begun = True

    def _find(self, run_id: str) -> LiveRun | None:
        return self._planned[run_id] if run_id in self._planned else self._live.runs.get(run_id)

    def _reader(self) -> LogReader:
        return LogReader(self._connection, self._queries, self._find)

    def _thread_end(self, thread_id: str) -> int:
        newest = self._execute(self._queries["newest_run_of_thread"], (thread_id,)).fetchone()
        if newest is None:
            return 0
        run_id, first_pos, last_seq = msgspec.convert(newest, tuple[str, int, int])
        if self._find(run_id) is not None:
            raise StoreError(
                "thread_busy",
                f"Run {run_id} of this thread has not ended. Wait for it, or claim and finish it.",
                {"run_id": run_id, "thread_id": thread_id},
            )
        return first_pos + last_seq

    def _exists(self, run_id: str) -> bool:
        return self._execute(self._queries["place_of_run"], (run_id,)).get is not None

    def _repeats_creation(self, frame: Frame) -> bool:
        if not frame.count or not self._exists(frame.run_id):
            return False
        info = self._reader().get_run(frame.run_id)
        run = self._find(frame.run_id) or new_live_run(info.epoch, info.last_seq)
        return frame.last_seq <= info.last_seq and self._is_stored(frame, run)

    def _repeat(self, write: Append, run: LiveRun) -> None:
        frame = write.frame
        if frame.first_seq > run.last_seq:
            raise StoreError(
                "sequence_gap",
                f"Run {frame.run_id} has {run.last_seq} events: a frame from {frame.first_seq} leaves a gap.",
                {"run_id": frame.run_id, "last_seq": run.last_seq},
            )
        same = frame.last_seq <= run.last_seq and write.end is None and self._is_stored(frame, run)
        if not same:
            raise StoreError(
                "append_conflict",
                f"Run {frame.run_id} already has other events from {frame.first_seq} on.",
                {"run_id": frame.run_id, "last_seq": run.last_seq},
            )

    def _repeat_after_end(self, frame: Frame) -> None:
        info = self._reader().get_run(frame.run_id)
        if frame.epoch != info.epoch:
            raise _stale(frame, info.epoch)
        if frame.last_seq > info.last_seq or not self._is_stored(
            frame, new_live_run(info.epoch, info.last_seq)
        ):
            raise _run_ended(info)

    def _is_stored(self, frame: Frame, run: LiveRun) -> bool:
        after = frame.first_seq - 1
        stored = self._reader().logged_payload(frame.run_id, after, run.logged_seq) + run.payload_after(after)
        return stored.startswith(frame.payload)

    def _end(self, write: Append, run: LiveRun) -> None:
        run_id = write.frame.run_id
        self._append_log(run_id, run)
        ended = (write.end, write.error_code, _now_ms(), run.last_seq, run_id)
        self._execute(self._queries["end_run"], ended)
        self._planned[run_id] = None

    def _move_to_logs(self, run_id: str, run: LiveRun) -> None:
        self._append_log(run_id, run)
        self._execute(self._queries["move_last_seq"], (run.last_seq, run_id))
        self._planned[run_id] = new_live_run(run.epoch, run.last_seq)

    def _append_log(self, run_id: str, run: LiveRun) -> None:
        self._begin()
        if run.held:
            row = (run_id, run.logged_seq + 1, run.last_seq, run.payload_after(run.logged_seq))
            self._execute(self._queries["append_log"], row)
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


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _stale(frame: Frame, epoch: int) -> StoreError:
    return StoreError(
        "stale_epoch",
        f"Run {frame.run_id} was taken over: its epoch is {epoch}, the frame's is {frame.epoch}.",
        {"run_id": frame.run_id, "epoch": epoch},
    )


def _run_ended(info: RunInfo) -> StoreError:
    return StoreError(
        "run_ended",
        f"Run {info.run_id} has ended ({info.status}).",
        {"run_id": info.run_id, "status": info.status},
    )
