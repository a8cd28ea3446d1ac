"""The one thread that writes a store. Waiting writes share a commit."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from agio.db.pace import pace_s
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
        self._urgent = False
        self._pacing = False
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

    def write(self, work: Callable[[Batch], T], *, urgent: bool = True) -> asyncio.Future[T]:
        """Queue a write; the future is done after its commit. Raises StoreError `store_closed`."""
        call, future = new_call(work, urgent)
        with self._changed:
            self._check_open()
            self._writes.append(call)
            self._urgent = self._urgent or urgent
            if urgent or not self._pacing:
                self._changed.notify()
        return future

    def read(self, work: Callable[[LogReader], T]) -> asyncio.Future[T]:
        """Queue a read on the writer's connection, for a store in memory."""
        call, future = new_call(work)
        with self._changed:
            self._check_open()
            self._reads.append(call)
            self._urgent = True
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
        committed_at = 0.0
        while True:
            writes, reads = self._take(committed_at)
            if not writes and not reads:
                return
            if writes:
                self._commit(writes)
                committed_at = time.monotonic()
                settle(writes)
            for call in reads:
                run_read(call, reader, self._path)
            if reads:
                settle(reads)

    def _take(self, committed_at: float) -> tuple[list[ThreadCall[Batch]], list[ThreadCall[LogReader]]]:
        """Wait for work and for the time of the next commit; empty lists mean that the store is closed."""
        with self._changed:
            while not self._writes and not self._reads and not self._closed:
                self._changed.wait()
            due = committed_at + pace_s(len(self._live.runs))
            while not self._urgent and not self._closed and (left := due - time.monotonic()) > 0:
                self._pacing = True
                self._changed.wait(left)
            writes, self._writes = self._writes, []
            reads, self._reads = self._reads, []
            self._urgent = self._pacing = False
        return writes, reads

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
