"""The recurring jobs of the store: interrupts expire, old records, sessions and unused files are deleted."""

import time
from collections.abc import Mapping

from agio.bus.bus import Bus
from agio.bus.signals import Deleted
from agio.core.config import ServerLimits
from agio.core.file import UNUSED_MS
from agio.core.store.jobs import RETENTION, JobRecord
from agio.core.store.store import Store
from agio.gateway.jobs.runner import JobKind
from agio.gateway.stream.hub import Hub
from agio.gateway.workers.dispatcher import Dispatcher

_BATCH = 50
"""How many sessions or files are deleted in one call of the store."""


class Sweeps:
    """What the recurring jobs do. `kinds` are their kinds, by name."""

    def __init__(
        self, store: Store, hub: Hub, dispatcher: Dispatcher, limits: ServerLimits, bus: Bus
    ) -> None:
        self._store = store
        self._bus = bus
        self._hub = hub
        self._dispatcher = dispatcher
        self._sweep_ms = int(limits.sweep_s * 1000)
        self._retention_ms = int(limits.retention_s * 1000)
        self.kinds: Mapping[str, JobKind] = {
            "expire_interrupts": JobKind(run=self._expire_interrupts, every_s=limits.sweep_s, attempts=None),
            "sweep": JobKind(run=self._sweep, every_s=limits.sweep_s, attempts=None),
            RETENTION: JobKind(run=self._delete_old_sessions, attempts=None),
        }

    async def _expire_interrupts(self, job: JobRecord) -> None:
        if await self._store.expire_interrupts(job=job.done(self._sweep_ms)):
            self._dispatcher.ring(queued=True)  # the queues of their sessions are free again

    async def _sweep(self, job: JobRecord) -> None:
        before = time.time_ns() // 1_000_000 - UNUSED_MS
        while await self._store.sweep_files(before, _BATCH) == _BATCH:
            pass
        await self._store.sweep(job=job.done(self._sweep_ms))

    async def _delete_old_sessions(self, job: JobRecord) -> None:
        """Delete a tenant's old sessions, each in a commit of its own."""
        while True:
            deleted = await self._store.delete_old_sessions(job.key, _BATCH)
            for session_id in deleted:
                self._hub.forget(session_id)
                self._bus.send(Deleted(session_id))
            if len(deleted) < _BATCH:
                break
        await self._store.finish_retention(job.key, job.done(self._retention_ms))
