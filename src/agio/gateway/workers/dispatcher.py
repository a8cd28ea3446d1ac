"""Dispatcher: claims runs from the store while a worker has room (law 1), whenever the pool's bell rings.

It also reclaims orphaned runs, and gives those that cannot be run to the ender.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Coroutine, Mapping

from agio.core.config import Price, ServerLimits
from agio.core.log_level import INPUTS
from agio.core.store.records import AgentRecord, ClaimBy, Claimed, EventSlice, Limits
from agio.core.store.repository import RunInfo, RunLog
from agio.core.store.store import Store
from agio.errors import AgioError, StoreError, UserError
from agio.gateway.counters import Counters
from agio.gateway.stream.hub import Hub
from agio.gateway.tools.endpoints import ModelEndpoints
from agio.gateway.tools.offers import knows_profile
from agio.gateway.workers.connected_worker import ClaimedRun, ConnectedWorker, Slot, hash_token
from agio.gateway.workers.delivery import Delivery
from agio.gateway.workers.ender import Ender
from agio.gateway.workers.pool import WorkerPool
from agio.gateway.workers.recall import Recall, asked_to_remember
from agio.gateway.workers.recorder import GONE
from agio.gateway.workers.shelf import Shelf, knows_documents
from agio.telemetry.context import about

_log = logging.getLogger("agio.gateway")

GATEWAY = "gateway"
"""The worker id of a claim that only ends a run."""


class Dispatcher:
    """Claims runs and delivers them as jobs. `run` is its task; everything else returns at once."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        pool: WorkerPool,
        endpoints: ModelEndpoints,
        limits: ServerLimits,
        counters: Counters,
        prices: Mapping[str, Price],
        recall: Recall,
    ) -> None:
        self.limits = Limits(
            limits.running_per_user,
            limits.running_per_key,
            limits.running_per_tenant,
            limits.queued_per_tenant,
            limits.queued_per_user,
        )
        self._store = store
        self._hub = hub
        self._pool = pool
        self._endpoints = endpoints
        self._times = limits
        self._counters = counters
        self._ender = Ender(store, hub, counters, prices, int(limits.memory_idle_s * 1000))
        self._delivery = Delivery(
            store,
            pool,
            endpoints,
            limits.tick_s,
            prices,
            recall,
            Shelf(store, recall),
            on_hopeless=self._end_hopeless,
        )
        self._recall = recall
        self._waiting = True
        """Whether the queue may have runs: the store is not asked about an empty one after each end of a run."""
        self._last_tenant = ""
        self._tasks: set[asyncio.Task[None]] = set()

    def ring(self, *, queued: bool = False) -> None:
        """Look for runs to claim soon; `queued`: the queue has grown."""
        self._waiting = self._waiting or queued
        self._pool.bell.set()

    async def run(self) -> None:
        """Claim and deliver, forever: when the bell rings, and every `tick_s` in case a ring was lost."""
        loop = asyncio.get_running_loop()
        tick_at = 0.0
        while True:
            try:
                async with asyncio.timeout_at(tick_at):
                    await self._pool.bell.wait()
            except TimeoutError:
                pass
            if loop.time() >= tick_at:
                self._waiting = True
                tick_at = loop.time() + self._times.tick_s
            self._pool.bell.clear()
            self._waiting, self._pool.requeued = self._waiting or self._pool.requeued, False
            try:
                while await self._step():
                    pass
            except AgioError as error:
                _log.warning("the queue could not be read and is read again soon: %s", error)
            except Exception:
                _log.exception("dispatching failed; the queue is read again soon")

    async def _step(self) -> bool:
        """Do the next thing there is to do. False: nothing is left."""
        while self._pool.to_end:
            self._spawn(self._take_and_end(self._pool.to_end.popitem()[1]))
        return not self._pool.draining and (await self._claim_orphan() or await self._claim_next())

    async def close(self) -> None:
        """Stop what is being prepared or ended; the next claim continues it."""
        self._pool.draining = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def reserve(self, worker: ConnectedWorker | None) -> Slot | None:
        """Reserve room at a worker for a claim; None while the gateway stops. `settle` follows."""
        if worker is None or self._pool.draining:
            return None
        token = secrets.token_urlsafe(32)
        worker.reserved += 1
        return Slot(worker, token, ClaimBy(worker.id, hash_token(token), worker.log_level))

    def settle(self, slot: Slot, claimed: Claimed | None) -> None:
        """Use the reserved room for a claimed run, or free it."""
        slot.worker.reserved -= 1
        if claimed is None:
            return
        self._counters.runs_claimed += 1
        info = claimed.info
        if claimed.must_end is not None:
            self._pool.revoke(info.run_id)
            self._spawn(self._end(claimed))
            return
        run = self._pool.hold(info, claimed.agent, slot.by.token_hash, slot.worker)
        if claimed.started:
            run.asked_to_remember = run.agent.memory != "off" and asked_to_remember(claimed.started)
            events = EventSlice(info.run_id, info.first_pos + 1, 1, claimed.started)
            self._hub.publish(info.session_id, events)
        agents = (claimed.agent, *claimed.agent.team)
        found = [end for each in agents if (end := self._endpoints.at_hand(each)) is not None]
        at_once = claimed.started and not info.first_pos and not knows_profile(run.tools)
        at_once = at_once and self._recall.is_idle(claimed.agent, info.user)
        at_once = at_once and not knows_documents(claimed.agent)
        if at_once and len(found) == len(agents):
            self._delivery.deliver(run, slot.token, RunLog(info, claimed.started), [], found)
        else:
            self._spawn(self._delivery.prepare(run, slot.token, claimed.started))

    async def _claim_orphan(self) -> bool:
        """Reclaim an orphaned run that a worker can run. Whether there may be another."""
        if not self._pool.orphans or not self._pool.with_room():
            return False
        for orphan in list(self._pool.orphans.values()):
            run_id = orphan.info.run_id
            orphan.agent = orphan.agent or await self._agent_of(orphan.info)
            worker = self._pool.choose(orphan.info.tenant, orphan.agent, orphan.info.log_level)
            if worker is None or self._pool.orphans.get(run_id) is not orphan:
                continue
            if (slot := self.reserve(worker)) is None:
                return False
            del self._pool.orphans[run_id]
            claimed = None
            try:
                claimed = await self._store.reclaim(
                    run_id, orphan.info.epoch, slot.by, given_back=orphan.given_back
                )
            except StoreError as error:
                self._pool.orphans[run_id] = orphan
                if error.code != "store_corrupt":
                    raise
                words = "orphaned run %s cannot be reclaimed: %s"
                _log.warning(words, run_id, error, extra=about(orphan.info))
                continue  # a row that cannot be read must not hold up the others
            finally:
                self.settle(slot, claimed)
            return True
        return False

    async def _agent_of(self, info: RunInfo) -> AgentRecord | None:
        try:
            return await self._store.get_agent(info.tenant, info.agent_id)
        except UserError:  # it was deleted; its runs are still run
            return None

    async def _claim_next(self) -> bool:
        """Claim the next queued run that a worker can run. Whether there was one."""
        if not self._waiting:
            return False
        if not self._pool.with_room():
            return await self._claim_to_end()
        tried: set[tuple[frozenset[str], frozenset[str] | None]] = set()
        for worker in self._pool.with_room():
            kind = (worker.agents, worker.permit.tenants)
            if kind in tried or worker.free <= 0 or (slot := self.reserve(worker)) is None:
                continue
            tried.add(kind)
            claimed = None
            try:
                claimed = await self._store.claim_next(
                    slot.by,
                    self.limits,
                    tenants=worker.permit.tenants,
                    code_agents=sorted(worker.agents),
                    code_tenants=worker.code_tenants,
                    after_tenant=self._last_tenant,
                    queued_before=int((time.time() - self._times.queue_timeout_s) * 1000),
                )
            finally:
                self.settle(slot, claimed)
            if claimed is not None:
                self._last_tenant = claimed.info.tenant
                return True
        if all(tenants is not None for _, tenants in tried) and await self._claim_to_end():
            return True
        if tried:
            self._waiting = False  # before the count: a run queued meanwhile sets it again
            self._waiting = (await self._store.count_runs()).get("queued", 0) > 0 or self._waiting
        return False

    async def _claim_to_end(self) -> bool:
        """Claim a queued run that must end, which needs no worker. Whether there was one."""
        by = ClaimBy(GATEWAY, hash_token(secrets.token_urlsafe(32)))
        before = int((time.time() - self._times.queue_timeout_s) * 1000)
        claimed = await self._store.claim_next(by, self.limits, queued_before=before, must_end_only=True)
        if claimed is not None:
            self._counters.runs_claimed += 1
            self._spawn(self._end(claimed))
        return claimed is not None

    def _end_hopeless(self, run: ClaimedRun, why: AgioError) -> None:
        if self._pool.let_go(run):
            self._spawn(self._end(Claimed(run.info, run.agent, run.info.session_id), why))

    async def _take_and_end(self, info: RunInfo) -> None:
        """Claim a cancelled run that its worker did not end, and write its end."""
        by = ClaimBy(GATEWAY, hash_token(secrets.token_urlsafe(32)))
        try:
            claimed = await self._store.reclaim(info.run_id, info.epoch, by)
            latest = info if claimed is not None else await self._store.get_run(info.run_id)
        except UserError:  # it was deleted
            return
        except StoreError as error:
            _log.warning(
                "cancelled run %s could not be ended and is retried: %s",
                info.run_id,
                error,
                extra=about(info),
            )
            await asyncio.sleep(self._times.tick_s)
            self._pool.end_cancelled(info)
            return
        self._pool.revoke(info.run_id, info.epoch)
        if claimed is not None:
            await self._end(claimed)
        elif latest.status == "running":  # it has just been reclaimed, maybe without the cancel
            self._pool.end_cancelled(latest)

    async def _end(self, claimed: Claimed, failure: AgioError | None = None) -> None:
        """Write a run's end under its claim. While the store fails the claim stays valid, and this retries."""
        try:
            while (trouble := await self._try_to_end(claimed, failure)) is not None:
                info = claimed.info
                _log.warning(
                    "run %s could not be ended and is retried: %s", info.run_id, trouble, extra=about(info)
                )
                await asyncio.sleep(self._times.tick_s)
        except UserError:  # it was deleted
            pass
        self.ring(queued=claimed.info.log_level >= INPUTS)

    async def _try_to_end(self, claimed: Claimed, failure: AgioError | None) -> StoreError | None:
        try:
            await self._ender.end(claimed, failure)
        except StoreError as error:
            return None if error.code in GONE else error
        return None

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error(
                "a run could not be prepared or ended; it is reclaimed at the next start", exc_info=error
            )
