"""The one thread that writes a store. Writes that wait share a commit."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from agio.db.pace import pace_s
from agio.db.queries import load_queries
from agio.db.sqlite.batch import Batch
from agio.db.sqlite.database import open_writable, store_error
from agio.db.sqlite.live import LiveRun, LiveRuns, load_live_runs
from agio.db.sqlite.reader import LogReader
from agio.db.sqlite.thread_calls import Job, make_job, settle
from agio.errors import AgioError, StoreError

T = TypeVar("T")

ROOM_BYTES = 1024 * 1024
"""With less room than this on its disk a store is not ready for more."""


class Writer:
    """Group commit for one store: a queue of writes, a thread, and what it knows of running runs."""

    def __init__(self, path: Path | None, *, beside: bool = False) -> None:
        self._path = path
        self._beside = beside
        self._queries = load_queries("sqlite")
        self._live = LiveRuns({}, 0, 0)
        self._changed = threading.Condition(threading.Lock())
        self._writes: list[Job[Batch]] = []
        self._reads: list[Job[LogReader]] = []
        self._closers: list[Job[None]] = []
        self._urgent = False
        self._pacing = False
        self._closed = False
        self._finished = False

    async def open(self) -> None:
        """Start the thread. Raises what `open_writable` raises."""
        job, opened = make_job(_nothing)
        threading.Thread(target=self._run, args=(job,), name="agio-writer", daemon=True).start()
        try:
            await opened
        except asyncio.CancelledError:
            self._stop()
            raise

    def find(self, run_id: str) -> LiveRun | None:
        """A running run as of its last commit. Any thread may ask."""
        return self._live.runs.get(run_id)

    def write(self, work: Callable[[Batch], T], *, urgent: bool = True) -> asyncio.Future[T]:
        """Queue a write; the future is done after its commit. Raises StoreError `store_closed`."""
        job, future = make_job(work, urgent)
        with self._changed:
            self._check_open()
            self._writes.append(job)
            self._urgent = self._urgent or urgent
            if urgent or not self._pacing:
                self._changed.notify()
        return future

    def read(self, work: Callable[[LogReader], T]) -> asyncio.Future[T]:
        """Queue a read on the writer's own connection, for a store that has no other."""
        job, future = make_job(work)
        with self._changed:
            self._check_open()
            self._reads.append(job)
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
        """Write what is queued, close the file, let go of the lock."""
        job, closed = make_job(_nothing)
        with self._changed:
            if self._finished:
                return
            self._closers.append(job)
        self._stop()
        await closed

    def _stop(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("store_closed", "The store was closed.")

    def _run(self, opening: Job[None]) -> None:
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

    def _finish(self, opening: Job[None]) -> None:
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
            for job in reads:
                run_read(job, reader, self._path)
            if reads:
                settle(reads)

    def _take(self, committed_at: float) -> tuple[list[Job[Batch]], list[Job[LogReader]]]:
        """Wait for work and for its time; nothing means that the store is closed."""
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

    def _commit(self, jobs: list[Job[Batch]]) -> None:
        batch = Batch(self._connection, self._queries, self._live)
        try:
            for job in jobs:
                job.error = None
                try:
                    job.result = job.work(batch)
                except AgioError as refusal:
                    job.error = refusal
            batch.commit()
        except Exception as error:  # whatever SQLite or a value says, the thread goes on
            self._undo(batch)
            if len(jobs) == 1:
                jobs[0].error = store_error(error, self._path)
                return
            for job in jobs:  # what one of them cannot have, the others still may
                self._commit([job])

    def _undo(self, batch: Batch) -> None:
        try:
            batch.rollback()
        except Exception:  # the connection says so again at the next write
            return


def run_read(job: Job[LogReader], reader: LogReader, path: Path | None) -> None:
    """Do a read and keep its outcome in the job."""
    try:
        job.result = job.work(reader)
    except Exception as error:
        job.error = store_error(error, path)


def _nothing(_: None) -> None: ...
