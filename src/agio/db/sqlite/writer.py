"""The one thread that writes a store. Waiting writes share a commit."""

import asyncio
import math
import os
import threading
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TypeVar

from agio.db.pace import URGENT, pace_s
from agio.db.queries import load_queries
from agio.db.sqlite.batch import Batch, HalfWritten
from agio.db.sqlite.database import open_writable, store_error
from agio.db.sqlite.live import LiveRun, LiveRuns, load_live_runs
from agio.db.sqlite.reader import LogReader
from agio.db.sqlite.thread_calls import ThreadCall, new_call, settle
from agio.errors import AgioError, StoreError

T = TypeVar("T")

ROOM_BYTES = 1024 * 1024
"""With less free disk space than this a store is not ready."""


class Writer:
    """Group commit for one store: a queue of writes, a thread, and its memory of running runs."""

    def __init__(self, path: Path | None, *, beside: bool = False) -> None:
        self._path = path
        self._beside = beside
        self._queries = load_queries("sqlite")
        self._live = LiveRuns({}, 0, 0)
        self._changed = threading.Condition(threading.Lock())
        self._writes: list[ThreadCall[Batch]] = []
        self._reads: list[ThreadCall[LogReader]] = []
        self._closers: list[ThreadCall[None]] = []
        self._paced: dict[str, list[ThreadCall[Batch]]] = {}
        """Appends that wait for others, by run."""
        self._share = URGENT
        """The share of the pace that `_writes` may wait."""
        self._committed_at = self._paced_at = 0.0
        """When the last commit ended, and when the last one with paced appends began."""
        self._closed = False
        self._finished = False

    async def open(self) -> None:
        """Start the thread. Raises what `open_writable` raises."""
        call, opened = new_call(_nothing)
        threading.Thread(target=self._run, args=(call,), name="agio-writer", daemon=True).start()
        try:
            await opened
        except asyncio.CancelledError:
            self._stop()
            raise

    def find(self, run_id: str) -> LiveRun | None:
        """A running run as of its last commit. Any thread may call it."""
        return self._live.runs.get(run_id)

    def write(self, work: Callable[[Batch], T]) -> asyncio.Future[T]:
        """Queue a write for the next commit; the future is done after it. Raises StoreError `store_closed`."""
        call, future = new_call(work)
        with self._changed:
            self._check_open()
            self._writes.append(call)
            self._share = 0.0
            self._changed.notify()
        return future

    def append(self, run_id: str, work: Callable[[Batch], T], *, urgent: bool) -> asyncio.Future[T]:
        """Queue an append to a run; one that is not urgent waits for others. Raises StoreError `store_closed`."""
        call, future = new_call(work)
        with self._changed:
            self._check_open()
            if urgent:
                self._writes += [*self._paced.pop(run_id, ()), call]
                self._changed.notify()
            else:
                if not self._paced:
                    self._changed.notify()
                self._paced.setdefault(run_id, []).append(call)
        return future

    def hurry(self, run_id: str) -> None:
        """Commit a run's waiting appends as if they were urgent."""
        with self._changed:
            if waiting := self._paced.pop(run_id, None):
                self._writes += waiting
                self._changed.notify()

    def read(self, work: Callable[[LogReader], T]) -> asyncio.Future[T]:
        """Queue a read on the writer's connection, for a store in memory."""
        call, future = new_call(work)
        with self._changed:
            self._check_open()
            self._reads.append(call)
            self._changed.notify()
        return future

    def check_room(self) -> None:
        """Raise StoreError `store_full` if the disk has no room for the next commits."""
        if self._path is None:
            return
        disk = os.statvfs(self._path.parent)
        if disk.f_bavail * disk.f_frsize < ROOM_BYTES:
            raise StoreError(
                "store_full", f"The disk of {self._path} is full: free some space and try again."
            )

    async def close(self) -> None:
        """Finish queued writes, close the file, release the lock."""
        call, closed = new_call(_nothing)
        with self._changed:
            if self._finished:
                return
            self._closers.append(call)
        self._stop()
        await closed

    def _stop(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("store_closed", "The store was closed.")

    def _run(self, opening: ThreadCall[None]) -> None:
        try:
            self._connection, lock = open_writable(self._path, beside=self._beside)
        except AgioError as error:
            opening.error = error
            self._finish(opening)
            return
        try:
            if not self._beside:  # the runs are its holder's
                self._live = load_live_runs(self._connection, self._queries)
        except Exception as error:
            opening.error = store_error(error, self._path)
        else:
            settle([opening])
            self._serve()
        try:
            self._connection.close()
        finally:
            if lock is not None:
                lock.release()
            self._finish(opening)

    def _finish(self, opening: ThreadCall[None]) -> None:
        with self._changed:
            self._closed = self._finished = True
            waiting = [opening, *self._closers]
        settle(waiting)

    def _serve(self) -> None:
        reader = LogReader(self._connection, self._queries, self.find)
        while True:
            writes, reads = self._take()
            if not writes and not reads:
                return
            if writes:
                self._commit(writes)
                self._committed_at = time.monotonic()
                settle(writes)
            for call in reads:
                run_read(call, reader, self._path)
            if reads:
                settle(reads)

    def _take(self) -> tuple[list[ThreadCall[Batch]], list[ThreadCall[LogReader]]]:
        """Wait for work and for the time of the next commit; empty lists mean that the store is closed."""
        with self._changed:
            while (left := self._left_s()) is None or left > 0:
                self._changed.wait(left)
            writes, self._writes = self._writes, []
            reads, self._reads = self._reads, []
            self._share = URGENT
            if self._paced and self._paced_left_s() <= 0:
                writes += chain.from_iterable(self._paced.values())
                self._paced.clear()
                self._paced_at = time.monotonic()
        return writes, reads

    def _left_s(self) -> float | None:
        """How long the next commit may wait; None: there is none."""
        if self._reads or self._closed:
            return 0.0
        left = self._paced_left_s() if self._paced else None
        if self._writes:
            due = self._committed_at + pace_s(len(self._live.runs), self._share)
            left = min(due - time.monotonic(), left if left is not None else math.inf)
        return left

    def _paced_left_s(self) -> float:
        if self._closed:
            return 0.0
        return self._paced_at + pace_s(len(self._live.runs)) - time.monotonic()

    def _commit(self, calls: list[ThreadCall[Batch]]) -> None:
        batch = Batch(self._connection, self._queries, self._live)
        try:
            for call in calls:
                call.error = None
                try:
                    call.result = call.work(batch)
                except AgioError as refusal:
                    call.error = refusal
            batch.commit()
        except Exception as error:  # the thread survives every error
            self._undo(batch)
            if len(calls) == 1:
                refusal = error.refusal if isinstance(error, HalfWritten) else error
                calls[0].error = store_error(refusal, self._path)
                return
            for call in calls:  # one failing write must not fail the others
                self._commit([call])

    def _undo(self, batch: Batch) -> None:
        try:
            batch.rollback()
        except Exception:  # the next write raises it again
            return


def run_read(call: ThreadCall[LogReader], reader: LogReader, path: Path | None) -> None:
    """Make a read and keep its result in the call."""
    try:
        call.result = call.work(reader)
    except Exception as error:
        call.error = store_error(error, path)


def _nothing(_: None) -> None: ...
