"""Appends on Postgres: a queue, and a task that commits waiting appends together, deltas at a pace."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from agio.core.store.repository import Append
from agio.db.pace import pace_s
from agio.db.postgres.batch import Group, Waiting, advance, advance_and_keep, append_alone, arrange
from agio.db.postgres.pool import PostgresPool
from agio.db.postgres.seal import PostgresSealer
from agio.db.records import check_frame, pack_turns
from agio.errors import AgioError, StoreError

RECENT_S = 1.0
"""A run that appended within this time counts as running, for the pace."""
PATIENCE_S = 5.0
"""How long appends wait for a server that restarts: no client waits for them."""
_HOPELESS = ("store_unavailable", "store_closed")
"""Errors that every waiting append would get too."""


class PostgresAppender:
    """Group commit for one store: a queue of appends, and a task while the queue is not empty."""

    def __init__(self, pool: PostgresPool) -> None:
        self._pool = pool
        self._sealer = PostgresSealer(pool)
        self._waiting: list[Waiting] = []
        self._recent: dict[str, float] = {}
        self._committed_at = 0.0
        self._hurry = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def append(self, write: Append) -> asyncio.Future[bool]:
        """Queue an append; the future is done after its commit.

        Raises StoreError `store_closed`, `invalid_frame`, `not_storable`.
        """
        if self._closed:
            raise StoreError("store_closed", "The store was closed.")
        check_frame(write)
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        item = Waiting(write, pack_turns(write), done)
        self._waiting.append(item)
        if not item.is_plain:
            self._hurry.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._serve(), name="agio-appender")
        return done

    async def close(self) -> None:
        """Commit the waiting appends, and pack the logs of the runs that have ended."""
        self._closed = True
        self._hurry.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        await self._sealer.close()

    async def _serve(self) -> None:
        while self._waiting:
            await self._pace()
            taken, self._waiting = self._waiting, []
            self._hurry.clear()
            try:
                await self._commit(taken)
            finally:  # not empty only if this task was cancelled
                for item in taken:
                    item.done.cancel()

    async def _pace(self) -> None:
        """Wait for the time of the next commit, unless something is urgent."""
        now = asyncio.get_running_loop().time()
        left = self._committed_at + pace_s(self._count_recent(now)) - now
        if left > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), left)

    def _count_recent(self, now: float) -> int:
        recent = self._recent
        for item in self._waiting:
            run_id = item.run_id
            recent.pop(run_id, None)
            if item.write.end is None:
                recent[run_id] = now
        while recent and now - recent[oldest := next(iter(recent))] > RECENT_S:
            del recent[oldest]
        return len(recent)

    async def _commit(self, items: Sequence[Waiting]) -> None:
        groups, alone = arrange(items)
        if groups:
            alone = [*await self._commit_groups(groups), *alone]
        for item in alone:
            await self._commit_alone(item)
        self._committed_at = asyncio.get_running_loop().time()

    async def _commit_groups(self, groups: Sequence[Group]) -> list[Waiting]:
        """Commit all groups together; returns the appends that were not taken, in order."""
        items = [item for group in groups for item in group.items]
        try:
            if all(item.is_plain for item in items):
                taken = await self._pool.read(
                    lambda connection: advance(connection, groups), patience_s=PATIENCE_S
                )
            else:
                taken = await self._pool.write(
                    lambda connection: advance_and_keep(connection, groups),
                    repeatable=True,
                    patience_s=PATIENCE_S,
                )
        except AgioError as error:
            if error.code not in _HOPELESS:
                return items  # one failing append must not fail the others
            for item in items:
                item.fail(error)
            return []
        for item in items:
            if item.run_id in taken:
                self._succeed(item, cancelled=taken[item.run_id])
        return [item for item in items if item.run_id not in taken]

    async def _commit_alone(self, item: Waiting) -> None:
        try:
            await self._pool.write(
                lambda connection: append_alone(connection, item), repeatable=True, patience_s=PATIENCE_S
            )
        except AgioError as refusal:
            item.fail(refusal)
        else:
            self._succeed(item)

    def _succeed(self, item: Waiting, *, cancelled: bool = False) -> None:
        item.succeed(cancelled=cancelled)
        if item.write.end is not None:
            self._sealer.seal(item.run_id)
