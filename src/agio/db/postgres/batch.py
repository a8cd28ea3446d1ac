"""Groups waiting appends that can share a commit on Postgres, and commits them.

Frames that continue their run share one compare-and-set and one insert. An append that this does not take,
because it repeats, does not fit or creates its run, is processed alone.
"""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from agio.core.store.repository import Append
from agio.db.plans.runs.runs import create_run, keep_append
from agio.db.postgres.driver import Connection
from agio.db.postgres.fence import is_next, repeats_creation
from agio.db.postgres.plans import ask_query, run_plan, store_frame
from agio.errors import AgioError


class Waiting(Struct, eq=False):
    """An append that waits for its commit."""

    write: Append
    turns: Sequence[dict[str, object]]
    done: asyncio.Future[bool]

    def succeed(self, *, cancelled: bool) -> None:
        """Report success, and whether the run is to be cancelled."""
        if not self.done.done():
            self.done.set_result(cancelled)

    def fail(self, error: AgioError) -> None:
        """Report a failure."""
        if not self.done.done():
            self.done.set_exception(error)

    @property
    def run_id(self) -> str:
        """The append's run."""
        return self.write.frame.run_id

    @property
    def is_plain(self) -> bool:
        """Whether it is only a frame, which may wait to share a commit."""
        return self.write.is_frame_only


class Group(Struct):
    """Appends to one run without a gap between them; whether they continue the run is not checked yet."""

    items: list[Waiting]

    @property
    def run_id(self) -> str:
        """The group's run."""
        return self.items[0].run_id

    def takes(self, write: Append) -> bool:
        """Whether an append continues this group."""
        last = self.items[-1].write
        return (
            last.end is None
            and write.create is None
            and write.frame.epoch == last.frame.epoch
            and write.frame.first_seq == last.frame.last_seq + 1
        )


def arrange(items: Sequence[Waiting]) -> tuple[list[Group], list[Waiting]]:
    """Group appends by run; returns the groups, and the appends to process one by one after them."""
    groups: dict[str, Group] = {}
    alone: list[Waiting] = []
    closed: set[str] = set()
    for item in items:
        run_id = item.run_id
        if run_id in closed:
            alone.append(item)
        elif (group := groups.get(run_id)) is not None and group.takes(item.write):
            group.items.append(item)
        elif group is None and item.write.create is None:
            groups[run_id] = Group([item])
        else:
            closed.add(run_id)
            alone.append(item)
    return sorted(groups.values(), key=lambda group: group.run_id), alone


async def advance(connection: Connection, groups: Sequence[Group]) -> dict[object, bool]:
    """Store the frames of the groups that continue their run; returns those runs, and which are to be cancelled."""
    frames = [[item.write.frame for item in group.items] for group in groups]
    given = {
        "run_ids": [group[0].run_id for group in frames],
        "epochs": [group[0].epoch for group in frames],
        "first_seqs": [group[0].first_seq for group in frames],
        "last_seqs": [group[-1].last_seq for group in frames],
        "payloads": [b"".join(frame.payload for frame in group) for group in frames],
    }
    rows = await ask_query(connection, "append_frames", given)
    return {run_id: bool(cancelled) for run_id, cancelled in rows}


async def advance_and_keep(connection: Connection, groups: Sequence[Group]) -> dict[object, bool]:
    """Store groups in a transaction, with the rows that come with their frames."""
    ending = [group.run_id for group in groups if group.items[-1].write.end is not None]
    await _lock_sessions(connection, ending)
    taken = await advance(connection, groups)
    for group in groups:
        if group.run_id in taken:
            for item in group.items:
                if not item.is_plain:
                    await _keep(connection, item)
    return taken


async def append_alone(connection: Connection, item: Waiting) -> None:
    """Store one append with all its rows. Raises the refusal."""
    write, frame = item.write, item.write.frame
    if write.end is not None:
        await _lock_sessions(connection, [frame.run_id])
    if write.create is not None and not await repeats_creation(connection, frame):
        await run_plan(connection, create_run(write.create))
    if not await is_next(connection, write):
        return
    if frame.count:
        await store_frame(connection, frame)
    if not item.is_plain:
        await _keep(connection, item)


async def _keep(connection: Connection, item: Waiting) -> None:
    await run_plan(connection, keep_append(item.write, item.write.frame.last_seq, item.turns))


async def _lock_sessions(connection: Connection, run_ids: Sequence[str]) -> None:
    # Sessions are locked before their runs everywhere: the end of a run does the same, to avoid a deadlock.
    if run_ids:
        await ask_query(connection, "lock_sessions_of_runs", {"run_ids": run_ids})
