"""Writes and deletes files in short commits, so that other writes do not wait long."""

from collections.abc import AsyncIterable
from contextlib import suppress
from functools import partial

from agio.core.file import FileQuota, FileRecord
from agio.db.executor import Executor
from agio.db.plans.sessions import files
from agio.errors import AgioError

_CHUNKS_A_COMMIT = 4


async def keep_file(
    executor: Executor, record: FileRecord, chunks: AsyncIterable[bytes], quota: FileQuota
) -> None:
    """Write a file. It is hidden until it is complete; a sweep deletes what a crash leaves.

    Raises LimitExceeded `too_many_files`, UserError `session_not_found`.
    """
    await executor.write(partial(files.begin_file, record, quota))
    try:
        first, batch = 0, list[bytes]()
        async for chunk in chunks:
            if len(batch) == _CHUNKS_A_COMMIT:
                await executor.write(partial(files.add_chunks, record.id, first, tuple(batch)))
                first += len(batch)
                batch.clear()
            batch.append(chunk)
        await executor.write(partial(files.finish_file, record, first, tuple(batch)))
    except Exception:
        with suppress(AgioError):
            await executor.write(partial(files.delete_file, record.tenant, record.user, record.id))
        raise


async def sweep_unused(executor: Executor, before: int, limit: int) -> int:
    """Delete files uploaded before a time that no message refers to; returns how many."""
    found = await executor.read(partial(files.unused_files, before, limit))
    deleted = [await executor.write(partial(files.delete_unused_file, file_id, before)) for file_id in found]
    return sum(deleted)
