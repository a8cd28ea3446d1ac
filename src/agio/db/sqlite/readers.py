"""Threads that read a store's file, each with its own connection."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from agio.db.queries import load_queries
from agio.db.sqlite.database import open_readable, store_error
from agio.db.sqlite.live import LiveRun, load_live_runs
from agio.db.sqlite.reader import LogReader
from agio.db.sqlite.thread_calls import ThreadCall, new_call, settle
from agio.errors import StoreError

T = TypeVar("T")

THREADS = 2


class Readers:
    """Reads off the event loop. Without `find` (a store opened read-only) the tail is read from the file."""

    def __init__(self, path: Path, find: Callable[[str], LiveRun | None] | None) -> None:
        self._path = path
        self._find = find
        self._queue: SimpleQueue[ThreadCall[LogReader] | None] = SimpleQueue()
        self._closing: list[ThreadCall[None]] = []
        self._mutex = threading.Lock()
        self._started = 0
        self._closed = False

    def read(self, work: Callable[[LogReader], T]) -> asyncio.Future[T]:
        """Queue a read. Raises StoreError `store_closed`."""
        call, future = new_call(work)
        with self._mutex:
            if self._closed:
                raise StoreError("store_closed", "The store was closed.")
            if self._started < THREADS:
                self._started += 1
                threading.Thread(target=self._run, name="agio-reader", daemon=True).start()
            self._queue.put(call)
        return future

    async def close(self) -> None:
        """Finish queued reads and close the connections."""
        with self._mutex:
            if self._closed:
                return
            self._closed = True
        waiting: list[asyncio.Future[None]] = []
        for _ in range(self._started):
            call, closed = new_call(_nothing)
            self._closing.append(call)
            waiting.append(closed)
        for _ in waiting:
            self._queue.put(None)
        for closed in waiting:
            await closed

    def _run(self) -> None:
        reading: _Reading | None = None
        while (call := self._queue.get()) is not None:
            try:
                reading = reading or _Reading(self._path, self._find)
                call.result = reading.run(call)
            except Exception as error:
                call.error = store_error(error, self._path)
            settle([call])
        if reading is not None:
            reading.connection.close()
        settle([self._closing.pop()])


class _Reading:
    """A connection of one thread."""

    def __init__(self, path: Path, find: Callable[[str], LiveRun | None] | None) -> None:
        self.connection = open_readable(path)
        self._find = find

    def run(self, call: ThreadCall[LogReader]) -> object:
        queries = load_queries("sqlite")
        if self._find is not None:
            return call.work(LogReader(self.connection, queries, self._find))
        with self.connection:
            live = load_live_runs(self.connection, queries)
            return call.work(LogReader(self.connection, queries, live.runs.get))


def _nothing(_: None) -> None: ...
