"""Appends on Postgres: what waits is committed together, each frame fenced by itself.

Frames that continue their run are one compare-and-set and one insert for all of them. What that does not take,
because it repeats, does not fit or creates its run, is looked at one by one.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from agio.core.repository import Append
from agio.db.plans.runs import create_run, keep_append
from agio.db.postgres_driver import Connection
from agio.db.postgres_fence import is_next, repeats_creation
from agio.db.postgres_plans import ask_query, run_plan, store_frame
from agio.db.postgres_pool import PostgresPool
from agio.db.records import check_frame, pack_turns
from agio.db.writer import pace_s
from agio.errors import AgioError, StoreError

RECENT_S = 1.0
"""A run that appended within this time counts as running, for the pace."""
_HOPELESS = ("store_unavailable", "store_closed")
"""What one append will be told as well as the next."""


class Waiting(Struct, eq=False):
    """An append that waits for its commit."""

    write: Append
    turns: Sequence[dict[str, object]]
    done: asyncio.Future[None]

    def succeed(self) -> None:
        """Say that it is stored."""
        if not self.done.done():
            self.done.set_result(None)

    def fail(self, error: AgioError) -> None:
        """Say why it is not."""
        if not self.done.done():
            self.done.set_exception(error)


class Group(Struct):
    """Appends that continue one run without a gap, as far as can be told without asking."""

    items: list[Waiting]

    def takes(self, write: Append) -> bool:
        """Whether an append goes on where this group ends."""
        last = self.items[-1].write
        return (
            last.end is None
            and write.create is None
            and write.frame.epoch == last.frame.epoch
            and write.frame.first_seq == last.frame.last_seq + 1
        )


class PostgresAppender:
    """Group commit for one store: a queue of appends, and a task as long as there are any."""

    def __init__(self, pool: PostgresPool) -> None:
        self._pool = pool
        self._waiting: list[Waiting] = []
        self._recent: dict[str, float] = {}
        self._committed_at = 0.0
        self._hurry = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def append(self, write: Append) -> asyncio.Future[None]:
        """Queue an append; the future is done after its commit.

        Raises StoreError `store_closed`, `invalid_frame`, `not_storable`.
        """
        if self._closed:
            raise StoreError("store_closed", "The store was closed.")
        check_frame(write)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiting(write, pack_turns(write), done))
        if write.create is not None or not _is_plain(write):
            self._hurry.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._serve(), name="agio-appender")
        return done

    async def close(self) -> None:
        """Commit what waits."""
        self._closed = True
        self._hurry.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _serve(self) -> None:
        while self._waiting:
            await self._pace()
            taken, self._waiting = self._waiting, []
            self._hurry.clear()
            try:
                await self._commit(taken)
            finally:  # only if this task is cancelled is anything left
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
            run_id = item.write.frame.run_id
            recent.pop(run_id, None)
            if item.write.end is None:
                recent[run_id] = now
        while recent and now - recent[oldest := next(iter(recent))] > RECENT_S:
            del recent[oldest]
        return len(recent)

    async def _commit(self, items: Sequence[Waiting]) -> None:
        groups, alone = _arrange(items)
        if groups:
            alone = [*await self._commit_groups(groups), *alone]
        for item in alone:
            await self._commit_alone(item)
        self._committed_at = asyncio.get_running_loop().time()

    async def _commit_groups(self, groups: Sequence[Group]) -> list[Waiting]:
        """Commit all groups together; returns what was not taken, in order."""
        items = [item for group in groups for item in group.items]
        try:
            if all(_is_plain(item.write) for item in items):
                taken = await self._pool.read(lambda connection: _advance(connection, groups))
            else:
                taken = await self._pool.write(
                    lambda connection: _advance_and_keep(connection, groups), repeatable=True
                )
        except AgioError as error:
            if error.code not in _HOPELESS:
                return items  # what one of them cannot have, the others still may
            for item in items:
                item.fail(error)
            return []
        for item in items:
            if item.write.frame.run_id in taken:
                item.succeed()
        return [item for item in items if item.write.frame.run_id not in taken]

    async def _commit_alone(self, item: Waiting) -> None:
        try:
            await self._pool.write(lambda connection: _append(connection, item), repeatable=True)
        except AgioError as refusal:
            item.fail(refusal)
        else:
            item.succeed()


def _arrange(items: Sequence[Waiting]) -> tuple[list[Group], list[Waiting]]:
    """The appends of each run that seem to continue it, and those that must be looked at after them."""
    groups: dict[str, Group] = {}
    alone: list[Waiting] = []
    closed: set[str] = set()
    for item in items:
        run_id = item.write.frame.run_id
        if run_id in closed:
            alone.append(item)
        elif (group := groups.get(run_id)) is not None and group.takes(item.write):
            group.items.append(item)
        elif group is None and item.write.create is None:
            groups[run_id] = Group([item])
        else:
            closed.add(run_id)
            alone.append(item)
    return sorted(groups.values(), key=lambda group: group.items[0].write.frame.run_id), alone


def _is_plain(write: Append) -> bool:
    return not (write.turns or write.begins or write.ends) and write.end is None


async def _advance(connection: Connection, groups: Sequence[Group]) -> set[object]:
    """Store the frames of the groups whose run is where they say; returns those runs."""
    frames = [[item.write.frame for item in group.items] for group in groups]
    given = {
        "run_ids": [group[0].run_id for group in frames],
        "epochs": [group[0].epoch for group in frames],
        "first_seqs": [group[0].first_seq for group in frames],
        "last_seqs": [group[-1].last_seq for group in frames],
        "payloads": [b"".join(frame.payload for frame in group) for group in frames],
    }
    return {run_id for (run_id,) in await ask_query(connection, "append_frames", given)}


async def _advance_and_keep(connection: Connection, groups: Sequence[Group]) -> set[object]:
    ending = [group.items[0].write.frame.run_id for group in groups if group.items[-1].write.end is not None]
    await _lock_sessions(connection, ending)
    taken = await _advance(connection, groups)
    for group in groups:
        if group.items[0].write.frame.run_id in taken:
            for item in group.items:
                if not _is_plain(item.write):
                    await _keep(connection, item)
    return taken


async def _append(connection: Connection, item: Waiting) -> None:
    """One append with all that comes with it. Raises the refusal."""
    write, frame = item.write, item.write.frame
    if write.end is not None:
        await _lock_sessions(connection, [frame.run_id])
    if write.create is not None and not await repeats_creation(connection, frame):
        await run_plan(connection, create_run(write.create))
    if not await is_next(connection, write):
        return
    if frame.count:
        await store_frame(connection, frame)
    if not _is_plain(write):
        await _keep(connection, item)


async def _keep(connection: Connection, item: Waiting) -> None:
    await run_plan(connection, keep_append(item.write, item.write.frame.last_seq, item.turns))


async def _lock_sessions(connection: Connection, run_ids: Sequence[str]) -> None:
    # Whoever changes a session locks it before its runs; so must the end of a run, or the two wait for each other.
    if run_ids:
        await ask_query(connection, "lock_sessions_of_runs", {"run_ids": run_ids})
