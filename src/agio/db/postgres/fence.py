"""The fence of appends on Postgres: the locked row of the run says whether a frame is the next one."""

from agio.core.store.repository import Append, RunInfo
from agio.db.plan import Events
from agio.db.postgres.driver import Connection
from agio.db.postgres.plans import ask_query, read_events
from agio.db.records import run_info
from agio.db.refusals import append_conflict, run_ended, run_not_found, sequence_gap, stale_epoch
from agio.protocol.frames import Frame


async def is_next(connection: Connection, write: Append) -> bool:
    """Whether an append continues its run; False if it was stored before.

    Raises StoreError `stale_epoch`, `sequence_gap`, `append_conflict`, `run_ended`; UserError `run_not_found`.
    """
    frame = write.frame
    run = await _lock_run(connection, frame.run_id)
    if run is None:
        raise run_not_found(frame.run_id)
    if frame.epoch != run.epoch:
        raise stale_epoch(frame.run_id, run.epoch, frame.epoch)
    if run.status == "running" and frame.first_seq == run.last_seq + 1:
        return True
    if run.status == "running" and frame.first_seq > run.last_seq:
        raise sequence_gap(frame, run.last_seq)
    stored = await _is_stored(connection, frame, run)
    if run.status != "running" and not stored:
        raise run_ended(run)
    if run.status == "running" and (write.end is not None or not stored):
        raise append_conflict(frame, run.last_seq)
    return False


async def repeats_creation(connection: Connection, frame: Frame) -> bool:
    """Whether the run that an append would create, and its first frame, are stored already."""
    if not frame.count:
        return False
    run = await _lock_run(connection, frame.run_id)
    return run is not None and await _is_stored(connection, frame, run)


async def _lock_run(connection: Connection, run_id: str) -> RunInfo | None:
    rows = await ask_query(connection, "lock_run", {"run_id": run_id})
    return run_info(rows[0]) if rows else None


async def _is_stored(connection: Connection, frame: Frame, run: RunInfo) -> bool:
    if frame.last_seq > run.last_seq:
        return False
    asked = Events(frame.run_id, frame.first_seq - 1, frame.last_seq)
    return b"".join(payload for (payload,) in await read_events(connection, asked)) == frame.payload
