"""Membership: this gateway's lease among those that share the store, and what it hears and sees of the others.

Everything that a signal says is also found by looking at the store, every quarter of a lease: a lost message costs so
much time, and nothing else (law 1).
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, assert_never

from agio.bus.signals import (
    Answered,
    Asked,
    Beat,
    Cancelled,
    Changed,
    Deleted,
    Freed,
    Given,
    Joined,
    Queued,
    Revoked,
    Signal,
)
from agio.core.config import ServerLimits
from agio.core.store.gateways import GatewayRecord
from agio.core.store.records import EventSlice
from agio.core.store.store import Store
from agio.errors import AgioError, UserError
from agio.gateway.http.rate_limits import Rates
from agio.gateway.stream.hub import Hub
from agio.gateway.tools.endpoints import ModelEndpoints
from agio.gateway.workers.dispatcher import Dispatcher
from agio.gateway.workers.pool import WorkerPool
from agio.gateway.workers.recall import Recall

_log = logging.getLogger("agio.gateway")

_LOOKS = 4
"""How often a lease is extended before it would end."""
_NAME_PAUSE_S = 0.5


class Membership:
    """One gateway's place among the others. `join` begins it, `run` is its task, `leave` ends it."""

    def __init__(
        self,
        me: GatewayRecord,
        store: Store,
        hub: Hub,
        pool: WorkerPool,
        dispatcher: Dispatcher,
        endpoints: ModelEndpoints,
        recall: Recall,
        rates: Rates,
        limits: ServerLimits,
    ) -> None:
        self.me = me
        self.on_revoked: Callable[[Revoked], Coroutine[Any, Any, None]] | None = None
        """Revokes what another gateway has revoked."""
        self._store = store
        self._hub = hub
        self._pool = pool
        self._dispatcher = dispatcher
        self._endpoints = endpoints
        self._recall = recall
        self._rates = rates
        self._limits = limits
        self._lease_ms = int(limits.gateway_lease_s * 1000)
        self._bell = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._adopt_from = 0.0
        """When this gateway takes over others' runs at the earliest: until then their workers may come to it."""
        self._seen_at = 0.0

    async def join(self, knows: Callable[[str], bool]) -> None:
        """Begin a lease. `knows` says whether this gateway has the master key with an id.

        Raises UserError `gateway_name_taken`, `master_key_differs`, StoreError.
        """
        loop = asyncio.get_running_loop()
        for other in await self._store.live_gateways():
            if other.name != self.me.name and other.master_key and not knows(other.master_key):
                raise UserError(
                    "master_key_differs",
                    f"The gateway {other.name} of this database seals credentials with the master key "
                    f"{other.master_key[:8]}, which this one does not have: start all gateways with the same "
                    "AGIO_SECRET_KEY.",
                )
        give_up_at = loop.time() + self._limits.gateway_lease_s + 2 * _NAME_PAUSE_S
        while not await self._store.join_gateway(self.me, self._lease_ms):
            if loop.time() > give_up_at:  # the lease of an earlier start has ended by now
                raise UserError(
                    "gateway_name_taken",
                    f"Another gateway named {self.me.name} uses this database: give each its own AGIO_GATEWAY_NAME.",
                )
            await asyncio.sleep(_NAME_PAUSE_S)
        self._pool.peers.bus.listen(self)
        self._seen_at = loop.time()
        self._adopt_from = loop.time() + self._limits.link_grace_s
        await self._read_gateways()
        self._pool.peers.bus.send(Joined())

    async def run(self) -> None:
        """Extend the lease and look at the store, forever: at intervals, and when a signal says so."""
        interval_s = self._limits.gateway_lease_s / _LOOKS
        while True:
            try:
                async with asyncio.timeout(interval_s):
                    await self._bell.wait()
            except TimeoutError:
                pass
            self._bell.clear()
            try:
                await self._look()
            except AgioError as error:
                _log.warning("the store could not be looked at and is again soon: %s", error)
            except Exception:
                _log.exception("the store could not be looked at and is again soon")

    async def leave(self) -> None:
        """End the lease: others take over what is left at once."""
        for task in self._tasks:
            task.cancel()
        try:
            await self._store.leave_gateway(self.me.id)
        except AgioError as error:
            _log.warning("this gateway's lease could not be ended, and ends by itself: %s", error)
        self._pool.peers.bus.send(Joined())
        self._pool.peers.bus.send(Freed())

    async def _look(self) -> None:
        loop, store, pool, me = asyncio.get_running_loop(), self._store, self._pool, self.me.id
        if not await store.renew_gateway(me, self._lease_ms) and not await store.join_gateway(
            self.me, self._lease_ms
        ):
            raise UserError("gateway_name_taken", f"Another gateway has taken the name {self.me.name}.")
        now = loop.time()
        if now - self._seen_at > self._limits.gateway_lease_s:
            # This gateway was away, and maybe all were, for example from the database: let the others come back.
            self._adopt_from = now + self._limits.gateway_lease_s
        self._seen_at = now
        await self._read_gateways()
        await pool.greeter.share_offers()
        for run_id in await store.flagged_runs(me):
            if (run := pool.runs.get(run_id)) is not None:
                pool.flag(run)
        if calls := pool.tools.acting:
            await store.renew_calls(me, calls, self._lease_ms)
        if now >= self._adopt_from and not pool.draining:
            for info in await store.lost_runs(me):
                pool.adopt(info)
        if watched := self._hub.watched:
            self._hub.compare(watched, await store.session_heads(watched))
        if not pool.peers.bus.connected:
            self._dispatcher.hear()

    async def _read_gateways(self) -> None:
        self._pool.peers.update(await self._store.live_gateways())
        self._rates.gateways = self._pool.peers.live

    # What others say

    def heard_events(self, session_id: str, events: EventSlice) -> None:
        """See `Listener`."""
        self._hub.hear(session_id, events)

    def missed(self, session_id: str | None) -> None:
        """See `Listener`."""
        self._hub.catch_up(session_id)
        if session_id is None:
            self._dispatcher.hear()
            self._bell.set()

    def heard(self, signal: Signal) -> None:
        """See `Listener`."""
        pool = self._pool
        match signal:
            case Queued():
                self._dispatcher.hear()
            case Freed() | Joined():
                self._bell.set()
            case Cancelled(run_id):
                if run_id in pool.runs:
                    self._bell.set()  # the flag is read from the store
            case Given(run_id):
                if (run := pool.runs.get(run_id)) is not None:
                    self._begin(pool.bring_inputs(run))
            case Deleted(session_id):
                pool.delete_session(session_id)
                self._hub.forget(session_id)
            case Revoked():
                if self.on_revoked is not None:
                    self._begin(self.on_revoked(signal))
            case Changed(tenant):
                self._endpoints.forget(tenant)
                self._recall.forget(tenant)
            case Beat(gateway=gateway):
                if gateway == self.me.id:
                    pool.hear_beat(signal)
            case Asked(gateway=gateway):
                if gateway == self.me.id:
                    self._begin(pool.relay.answer(signal))
            case Answered(gateway=gateway):
                if gateway == self.me.id:
                    pool.relay.take(signal)
            case _:
                assert_never(signal)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("what another gateway said could not be done here: %s", error)
