"""Sweeper: the periodic work on the store, as interrupts expire and old sessions and unused files are deleted."""

import asyncio
import logging
import time

from agio.core.file import UNUSED_MS
from agio.core.store.store import Store
from agio.errors import AgioError
from agio.gateway.stream.hub import Hub
from agio.gateway.workers.dispatcher import Dispatcher

_log = logging.getLogger("agio.gateway")

_BATCH = 50
"""How many sessions or files are deleted in one call of the store."""


class Sweeper:
    """Sweeps the store every `interval_s`. `run` is its task."""

    def __init__(self, store: Store, hub: Hub, dispatcher: Dispatcher, interval_s: float) -> None:
        self._store = store
        self._hub = hub
        self._dispatcher = dispatcher
        self._interval_s = interval_s

    async def run(self) -> None:
        """Sweep forever. A sweep that fails is logged; the next one begins anew."""
        while True:
            await asyncio.sleep(self._interval_s)
            try:
                if await self._store.expire_interrupts():
                    self._dispatcher.ring()  # the queues of their sessions are free again
                await self._store.sweep()
                await self._delete_old_sessions()
                await self._delete_unused_files()
            except AgioError as error:
                _log.warning("sweeping the store failed: %s", error)

    async def _delete_old_sessions(self) -> None:
        while True:
            deleted = await self._store.delete_old_sessions(_BATCH)
            for session_id in deleted:
                self._hub.forget(session_id)
            if len(deleted) < _BATCH:
                return

    async def _delete_unused_files(self) -> None:
        before = time.time_ns() // 1_000_000 - UNUSED_MS
        while await self._store.sweep_files(before, _BATCH) == _BATCH:
            pass
