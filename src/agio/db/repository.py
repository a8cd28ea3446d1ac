"""The store port on SQLite: `open_store` gives the AgentRunRepository of a file or of memory."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from agio.core.repository import Append, NewRun, RunInfo, RunLog, ToolRecord
from agio.db.reader import LogReader
from agio.db.readers import Readers
from agio.db.records import check_frame, pack_content, pack_turns
from agio.db.writer import Writer
from agio.errors import AgioError, StoreError
from agio.protocol.events import AgentEvent

T = TypeVar("T")


async def open_store(path: str | Path, *, read_only: bool = False) -> "SqliteRepository":
    """Open the store in a file, making it if need be, or a new one in memory (`":memory:"`).

    Read-only needs no lock: it reads beside whoever writes. Raises StoreError `store_locked`,
    `store_corrupt`, `store_newer`, `store_older`, `store_unavailable`.
    """
    if str(path) == ":memory:":
        writer = Writer(None)
        await writer.open()
        return SqliteRepository(writer, None)
    file = _resolve(path)
    if read_only:
        readers = Readers(file, None)
        await readers.read(_touch)
        return SqliteRepository(None, readers)
    writer = Writer(file)
    await writer.open()
    return SqliteRepository(writer, Readers(file, writer.find))


class SqliteRepository:
    """Runs and their logs in SQLite. Any event loop may call it; a cancelled write may still happen."""

    def __init__(self, writer: Writer | None, readers: Readers | None) -> None:
        self._writer = writer
        self._readers = readers

    async def create_run(self, run: NewRun) -> RunInfo:
        """Add a running run.

        Raises StoreError `run_exists` if its id is taken, `thread_busy` if its thread has a running run.
        """
        return await self._writing().write(lambda batch: batch.create_run(run))

    async def claim_run(self, run_id: str) -> RunInfo:
        """Take over a running run. Raises UserError `run_not_found`, StoreError `run_ended`."""
        return await self._writing().write(lambda batch: batch.claim_run(run_id))

    def append(self, write: Append) -> asyncio.Future[None]:
        """Make a frame durable: the future is done after the commit.

        It fails with StoreError `stale_epoch`, `sequence_gap`, `append_conflict`, `run_ended`, `run_exists`,
        `thread_busy`, `invalid_frame`, `not_storable`, `store_full`, `store_failed`; UserError `run_not_found`.
        """
        try:
            check_frame(write)
            turns = pack_turns(write)
            urgent = bool(turns or write.begins or write.create) or write.end is not None
            return self._writing().write(lambda batch: batch.append(write, turns), urgent=urgent)
        except AgioError as refusal:
            refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            refused.set_exception(refusal)
            return refused

    async def get_run(self, run_id: str) -> RunInfo:
        """Raises UserError `run_not_found`."""
        return await self._read(lambda reader: reader.get_run(run_id))

    async def get_log(self, run_id: str, after: int = 0) -> RunLog:
        """The log after event `after`. Raises UserError `run_not_found`."""
        return await self._read(lambda reader: reader.get_log(run_id, after))

    async def get_events(self, run_id: str, after: int = 0) -> list[AgentEvent]:
        """The events after `after`, as they were streamed. Raises UserError `run_not_found`."""
        return await self._read(lambda reader: reader.get_log(run_id, after).events())

    async def list_runs(
        self,
        *,
        thread_id: str | None = None,
        agent: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> list[RunInfo]:
        """Runs, newest first. Raises UserError `run_not_found` if there is no run `before`."""
        return await self._read(lambda reader: reader.list_runs(thread_id, agent, before, limit))

    async def begin_tool(self, run_id: str, key: str) -> ToolRecord | None:
        """Record that a call begins. Raises UserError `run_not_found`, StoreError `run_ended`."""
        return await self._writing().write(lambda batch: batch.begin_tool(run_id, key))

    async def end_tool(self, run_id: str, key: str, record: ToolRecord) -> None:
        """Record a call's result; the first one stays. Raises UserError `run_not_found`."""
        content = pack_content(record)
        await self._writing().write(lambda batch: batch.end_tool(run_id, key, content, record.error))

    async def close(self) -> None:
        """Write what is pending and let go of the files."""
        if self._readers is not None:
            await self._readers.close()
        if self._writer is not None:
            await self._writer.close()

    async def _read(self, work: Callable[[LogReader], T]) -> T:
        if self._readers is not None:
            return await self._readers.read(work)
        return await self._writing().read(work)

    def _writing(self) -> Writer:
        if self._writer is None:
            raise StoreError("store_read_only", "The store was opened read-only.")
        return self._writer


def _resolve(path: str | Path) -> Path:
    return Path(path).expanduser().resolve()


def _touch(reader: LogReader) -> None:
    """Opens the file, which is all that is asked."""
