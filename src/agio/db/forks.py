"""Copies sessions, each in several short commits: nobody else waits long for the writer."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from agio.db.executor import Executor
from agio.db.plans import forks
from agio.db.plans.fork_source import Fork
from agio.db.plans.log import check_session
from agio.errors import AgioError

_COMMIT_BYTES = 512 * 1024
_COMMIT_ROWS = 200
_CHUNKS_A_COMMIT = 4


async def copy_session(executor: Executor, fork: Fork) -> None:
    """Copy all there is of a session up to where the fork ends. What a crash leaves is seen by nobody, and swept.

    Raises UserError `session_not_found` if the session is deleted meanwhile.
    """
    await executor.write(partial(forks.begin_fork, fork))
    try:
        await _copy_runs(executor, fork)
        for file_id, size in fork.files:
            await executor.write(partial(forks.copy_file, fork, file_id))
            for first in range(0, forks.chunks_of(size), _CHUNKS_A_COMMIT):
                last = first + _CHUNKS_A_COMMIT
                await executor.write(partial(forks.copy_chunks, fork, file_id, first, last))
    except Exception:
        await give_up(executor, fork)
        raise


async def give_up(executor: Executor, fork: Fork) -> None:
    """Remove what was copied. Raises UserError `session_not_found` if that is why the copy could not be made."""
    with suppress(AgioError):
        await executor.write(partial(forks.drop_fork, fork))
    await executor.read(partial(check_session, fork.tenant, fork.user, fork.source))


async def _copy_runs(executor: Executor, fork: Fork) -> None:
    rows: list[tuple[str, Mapping[str, object]]] = []
    size = 0
    for run in fork.runs:
        copied = 0
        while copied < run.last_seq:
            piece = await executor.read(partial(forks.read_piece, fork, run, copied))
            rows += piece.rows
            size += piece.size_bytes
            copied = piece.last_seq
            if size >= _COMMIT_BYTES or len(rows) >= _COMMIT_ROWS:
                await executor.write(partial(forks.write_rows, tuple(rows)))
                rows.clear()
                size = 0
    await executor.write(partial(forks.write_rows, tuple(rows)))
