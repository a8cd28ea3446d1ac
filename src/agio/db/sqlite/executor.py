"""Runs plans and appends on SQLite: writes in the one writer, reads in the readers."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from agio.core.store.repository import Append
from agio.db.plan import Plan
from agio.db.records import check_frame, pack_turns
from agio.db.sqlite.reader import LogReader
from agio.db.sqlite.readers import Readers
from agio.db.sqlite.writer import Writer
from agio.errors import AgioError, StoreError

T = TypeVar("T")


async def open_sqlite(path: str | Path, *, read_only: bool = False, beside: bool = False) -> "SqliteExecutor":
    """Open a file, making it if need be, or a new store in memory (`":memory:"`). Raises StoreError."""
    if str(path) == ":memory:":
        writer = Writer(None)
        await writer.open()
        return SqliteExecutor(writer, None)
    file = _resolve(path)
    if read_only:
        readers = Readers(file, None)
        await readers.read(_touch)
        return SqliteExecutor(None, readers)
    writer = Writer(file, beside=beside)
    await writer.open()
    return SqliteExecutor(writer, Readers(file, writer.find))


class SqliteExecutor:
    """A store in SQLite. Any event loop may call it; a cancelled write may still happen."""

    def __init__(self, writer: Writer | None, readers: Readers | None) -> None:
        self._writer = writer
        self._readers = readers

    async def write(self, make: Callable[[], Plan[T]]) -> T:
        """Run a plan in the next commit."""
        return await self._writing().write(lambda batch: batch.run(make()))

    async def read(self, make: Callable[[], Plan[T]]) -> T:
        """Run a plan that reads."""
        if self._readers is not None:
            return await self._readers.read(lambda reader: reader.run(make()))
        return await self._writing().read(lambda reader: reader.run(make()))

    def append(self, write: Append) -> asyncio.Future[None]:
        """Make a frame durable: the future is done after the commit, and carries any error."""
        try:
            check_frame(write)
            turns = pack_turns(write)
            run_id, urgent = write.frame.run_id, write.is_urgent
            return self._writing().append(run_id, lambda batch: batch.append(write, turns), urgent=urgent)
        except AgioError as refusal:
            refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            refused.set_exception(refusal)
            return refused

    def hurry(self, run_id: str) -> None:
        """Commit a run's waiting frames as if they were urgent."""
        if self._writer is not None:
            self._writer.hurry(run_id)

    def check_room(self) -> None:
        """Raise StoreError `store_full` if the disk has no room for the next commits."""
        if self._writer is not None:
            self._writer.check_room()

    async def close(self) -> None:
        """Write pending appends and close the files."""
        if self._readers is not None:
            await self._readers.close()
        if self._writer is not None:
            await self._writer.close()

    def _writing(self) -> Writer:
        if self._writer is None:
            raise StoreError("store_read_only", "The store was opened read-only.")
        return self._writer


def _resolve(path: str | Path) -> Path:
    return Path(path).expanduser().resolve()


def _touch(reader: LogReader) -> None:
    """Does nothing: the read opens the file."""
