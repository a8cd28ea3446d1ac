"""Packs the logs of ended runs: blocks take the place of their frames, soon after the commit of the end.

Not in that commit: it would take half as long again, and a long log would hold up the appends of other runs. A process
that stops in between leaves frames, which are read as they are.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import attrgetter

from agio.db.packing import LogRow, pack
from agio.db.plan import Each, Row
from agio.db.postgres.driver import Connection
from agio.db.postgres.plans import ask_query, run_step
from agio.db.postgres.pool import PostgresPool
from agio.db.rows import as_row
from agio.errors import AgioError

PAUSE_S = 1.0
"""How long ended runs wait for others: a transaction of its own would cost a run 0.7 ms of CPU."""
AT_ONCE = 32
"""The most runs one transaction packs."""

_log = logging.getLogger("agio.db")
_threads = ThreadPoolExecutor(1, "agio-packer")


class PostgresSealer:
    """The ended runs of one store that are to be packed, and a task while there are some."""

    def __init__(self, pool: PostgresPool) -> None:
        self._pool = pool
        self._ended: list[str] = []
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def seal(self, run_id: str) -> None:
        """Pack the log of a run that has ended, in a while."""
        self._ended.append(run_id)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._serve(), name="agio-sealer")

    async def close(self) -> None:
        """Pack what is left."""
        self._closing.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _serve(self) -> None:
        while self._ended:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), PAUSE_S if len(self._ended) < AT_ONCE else 0)
            taken, self._ended = self._ended[:AT_ONCE], self._ended[AT_ONCE:]
            try:
                await self._pool.write(partial(_seal, taken), repeatable=True)
            except AgioError as error:
                _log.warning("the logs of %d ended runs stay unpacked: %s", len(taken), error)


async def _seal(run_ids: Sequence[str], connection: Connection) -> None:
    frames = await ask_query(connection, "take_frames", {"run_ids": run_ids})
    blocks = await asyncio.get_running_loop().run_in_executor(_threads, _pack, frames)
    await run_step(connection, Each("put_log", blocks))


def _pack(rows: Sequence[Row]) -> list[Mapping[str, object]]:
    frames = sorted((as_row(LogRow, row) for row in rows), key=attrgetter("run_id", "first_seq"))
    blocks: list[Mapping[str, object]] = []
    for run_id, group in groupby(frames, key=attrgetter("run_id")):
        log = list(group)
        lines = b"".join(frame.payload for frame in log)
        blocks += pack(run_id, log[0].first_seq, log[-1].last_seq, lines)
    return blocks
