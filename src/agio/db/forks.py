"""Copies sessions in short commits, so that other writes do not wait long."""

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import msgspec

from agio.core.store.records import SessionRecord
from agio.core.store.repository import RunInfo
from agio.db.executor import Executor
from agio.db.plans.runs.log import check_session
from agio.db.plans.sessions import forks
from agio.db.plans.sessions.fork_pieces import (
    Filled,
    is_long,
    piece_rows,
    read_piece,
    read_stretch,
    stretch_rows,
    stretches,
)
from agio.db.plans.sessions.fork_source import Fork
from agio.db.plans.sessions.forks import ForkKey
from agio.db.plans.sessions.sessions import hash_key
from agio.errors import AgioError

_COMMIT_ROWS = 500
_CHUNKS_A_COMMIT = 4


def fork_key(key: str, before: str, title: str | None) -> ForkKey:
    """The identity of a fork request, for repeats."""
    return ForkKey(hash_key(key), hashlib.sha256(msgspec.json.encode([before, title])).digest())


async def find_forked(
    executor: Executor, tenant: str, user: str, session_id: str, key: ForkKey | None
) -> SessionRecord | None:
    """The copy that this key made before. Raises UserError `idempotency_conflict`, `session_deleted`."""
    if key is None:
        return None
    return await executor.read(partial(forks.find_forked, tenant, user, session_id, key))


async def copy_session(executor: Executor, fork: Fork) -> None:
    """Copy a session up to the end of the fork. The copy is hidden; a sweep deletes what a crash leaves.

    Raises UserError `session_not_found` if the session is deleted while it is copied.
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
    """Delete the unfinished copy. Raises UserError `session_not_found` if the source was deleted."""
    with suppress(AgioError):
        await executor.write(partial(forks.drop_fork, fork))
    await executor.read(partial(check_session, fork.tenant, fork.user, fork.source))


async def _copy_runs(executor: Executor, fork: Fork) -> None:
    for runs in stretches(fork):
        stretch = await executor.read(partial(read_stretch, fork, runs))
        await _write(executor, await asyncio.to_thread(stretch_rows, fork, stretch))
        if is_long(fork, runs[0]):
            await _copy_log(executor, fork, runs[0])


async def _copy_log(executor: Executor, fork: Fork, run: RunInfo) -> None:
    copied = 0
    while copied < run.last_seq:
        piece = await executor.read(partial(read_piece, fork, run, copied))
        await _write(executor, await asyncio.to_thread(piece_rows, fork, piece))
        copied = piece.last_seq


async def _write(executor: Executor, rows: Sequence[Filled]) -> None:
    for first in range(0, len(rows), _COMMIT_ROWS):
        await executor.write(partial(forks.write_rows, rows[first : first + _COMMIT_ROWS]))
