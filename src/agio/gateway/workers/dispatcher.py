"""Gives runs to workers: whenever somebody rings, it claims from the store while a worker has room (law 1).

It also takes over runs whose worker was lost, and hands those that cannot be run to the ender.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Coroutine, Mapping

from msgspec import Struct

from agio.core.config import Price, ServerLimits
from agio.core.link.link import ToolOffer
from agio.core.store.records import AgentRecord, ClaimBy, Claimed, EventSlice, Limits
from agio.core.store.repository import RunInfo, RunLog
from agio.core.store.store import Store
from agio.errors import AgioError, StoreError, UserError
from agio.gateway.counters import Counters
from agio.gateway.stream.hub import Hub
from agio.gateway.tools.endpoints import ModelEndpoints
from agio.gateway.tools.offers import knows_profile, tools_of
from agio.gateway.workers.delivery import Delivery
from agio.gateway.workers.ender import Ender
from agio.gateway.workers.pool import HeldRun, Seat, Slot, Workers, hash_token
from agio.gateway.workers.recorder import GONE
from agio.telemetry.context import about

_log = logging.getLogger("agio.gateway")

GATEWAY = "gateway"
"""Who claims a run that is to be ended."""


class OrphanedRun(Struct):
    """A running run that no worker holds, and its agent once it is known."""

    info: RunInfo
    agent: AgentRecord | None = None
    given_back: bool = False
    """Whether its worker let go of it in good order."""


class Dispatcher:
    """Claims runs and delivers them as jobs. `run` is its task; everything else returns at once."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        workers: Workers,
        endpoints: ModelEndpoints,
        limits: ServerLimits,
        built_in: Mapping[str, ToolOffer],
        counters: Counters,
        prices: Mapping[str, Price],
    ) -> None:
        self.limits = Limits(
            limits.running_per_user,
            limits.running_per_key,
            limits.running_per_tenant,
            limits.queued_per_tenant,
            limits.queued_per_user,
        )
        self.claiming = True
        self._store = store
        self._hub = hub
        self._workers = workers
        self._endpoints = endpoints
        self._times = limits
        self._built_in = built_in
        self._figures = counters
        self._ender = Ender(store, hub, counters, prices)
        self._delivery = Delivery(
            store,
            workers,
            endpoints,
            limits.tick_s,
            prices,
            on_lost=self._lose,
            on_hopeless=self._end_hopeless,
        )
        self._rung = asyncio.Event()
        self._orphans: dict[str, OrphanedRun] = {}
        """Running runs that no worker holds."""
        self._waiting = True
        """Whether the queue may have runs: whoever ends a run need not ask the store about an empty one."""
        self._last_tenant = ""
        self._tasks: set[asyncio.Task[None]] = set()

    def ring(self, *, queued: bool = False) -> None:
        """Say that a run may have become claimable, or a worker may have got room; `queued`: the queue has grown."""
        self._waiting = self._waiting or queued
        self._rung.set()

    async def run(self) -> None:
        """Claim and deliver, for ever: when rung, and now and then in case a ring was lost."""
        loop = asyncio.get_running_loop()
        tick_at = 0.0
        while True:
            try:
                async with asyncio.timeout_at(tick_at):
                    await self._rung.wait()
            except TimeoutError:
                pass
            if loop.time() >= tick_at:
                self._waiting = True
                tick_at = loop.time() + self._times.tick_s
            self._rung.clear()
            try:
                while self.claiming and (await self._claim_orphan() or await self._claim_next()):
                    pass
            except AgioError as error:
                _log.warning("the queue could not be read, and is looked at again soon: %s", error)
            except Exception:
                _log.exception("dispatching failed; the queue is looked at again soon")

    async def close(self) -> None:
        """Stop what is being prepared or ended; the next claim goes on with it."""
        self.claiming = False
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def reserve(self, seat: Seat | None) -> Slot | None:
        """Keep room at a worker for a claim that is being made; None if nobody has any. `settle` gives it back."""
        if seat is None or not self.claiming:
            return None
        token = secrets.token_urlsafe(32)
        seat.reserved += 1
        return Slot(seat, token, ClaimBy(seat.id, hash_token(token)))

    def settle(self, slot: Slot, claimed: Claimed | None) -> None:
        """Use the room that was kept, or give it back."""
        slot.seat.reserved -= 1
        if claimed is None:
            return
        self._figures.runs_claimed += 1
        info = claimed.info
        if claimed.must_end is not None:
            if (before := self._workers.runs.get(info.run_id)) is not None:
                self._workers.drop(before)
            self._spawn(self._end(claimed))
            return
        held = HeldRun(
            info=info,
            agent=claimed.agent,
            token_hash=slot.by.token_hash,
            seat=slot.seat,
            tools=tools_of(claimed.agent, self._built_in, slot.seat.tools),
            last_seq=info.last_seq,
            cancelled=info.cancel_requested,
        )
        self._workers.hold(held)
        if claimed.started:
            chunk = EventSlice(info.run_id, info.first_pos + 1, 1, claimed.started)
            self._hub.publish(info.session_id, chunk)
        found = self._endpoints.at_hand(claimed.agent)
        at_once = claimed.started and not info.first_pos and not knows_profile(held.tools)
        if at_once and found is not None:
            self._delivery.deliver(held, slot.token, RunLog(info, claimed.started), [], found)
        else:
            self._spawn(self._delivery.prepare(held, slot.token, claimed.started))

    def take_over(self, info: RunInfo, agent: AgentRecord | None = None, *, given_back: bool = False) -> None:
        """Give a running run that nobody holds to whoever has room."""
        self._orphans[info.run_id] = OrphanedRun(info, agent, given_back)
        self.ring()

    def pass_on(self, held: HeldRun, *, given_back: bool = False) -> None:
        """Let somebody else go on with a run its worker let go of, or end it: it was to be cancelled."""
        if held.cancelled:
            self.end_cancelled(held.info)
        else:
            self.take_over(held.info, held.agent, given_back=given_back)

    def forget(self, run_id: str) -> None:
        """Leave a run that waits to be taken over: it was deleted, or its worker came back."""
        self._orphans.pop(run_id, None)

    def end_cancelled(self, info: RunInfo) -> None:
        """Claim a running run and write its end: nobody obeyed its cancellation."""
        self._spawn(self._take_and_end(info))

    async def _claim_orphan(self) -> bool:
        """Take over a run if a worker can. Whether it is worth asking again."""
        if not self._orphans or not self._workers.with_room():
            return False
        for orphan in list(self._orphans.values()):
            run_id = orphan.info.run_id
            orphan.agent = orphan.agent or await self._agent_of(orphan.info)
            seat = self._workers.choose(orphan.info.tenant, orphan.agent)
            if seat is None or self._orphans.get(run_id) is not orphan:
                continue
            if (slot := self.reserve(seat)) is None:
                return False
            del self._orphans[run_id]
            claimed = None
            try:
                claimed = await self._store.reclaim(
                    run_id, orphan.info.epoch, slot.by, given_back=orphan.given_back
                )
            except StoreError as error:
                self._orphans[run_id] = orphan
                if error.code != "store_corrupt":
                    raise
                words = "run %s cannot be taken over: %s"
                _log.warning(words, run_id, error, extra=about(orphan.info))
                continue  # one row that cannot be read must not hold up the others
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
        """Claim the next queued run that one of the workers can run. Whether there was one."""
        if not self._waiting:
            return False
        if not self._workers.with_room():
            return await self._claim_to_end()
        tried: set[tuple[frozenset[str], frozenset[str] | None]] = set()
        for seat in self._workers.with_room():
            kind = (seat.agents, seat.permit.tenants)
            if kind in tried or seat.free <= 0 or (slot := self.reserve(seat)) is None:
                continue
            tried.add(kind)
            claimed = None
            try:
                claimed = await self._store.claim_next(
                    slot.by,
                    self.limits,
                    tenants=seat.permit.tenants,
                    code_agents=sorted(seat.agents),
                    code_tenants=seat.code_tenants,
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
            self._waiting = False  # before the store is asked: what is queued meanwhile says so itself
            self._waiting = (await self._store.count_runs()).get("queued", 0) > 0 or self._waiting
        return False

    async def _claim_to_end(self) -> bool:
        """Claim a queued run that is only to be ended, which needs no worker. Whether there was one."""
        by = ClaimBy(GATEWAY, hash_token(secrets.token_urlsafe(32)))
        before = int((time.time() - self._times.queue_timeout_s) * 1000)
        claimed = await self._store.claim_next(by, self.limits, queued_before=before, must_end_only=True)
        if claimed is not None:
            self._figures.runs_claimed += 1
            self._spawn(self._end(claimed))
        return claimed is not None

    def _lose(self, held: HeldRun) -> None:
        """Let another worker begin a run: nobody has, so nobody needs time to come back."""
        if self._workers.let_go(held):
            self.pass_on(held)

    def _end_hopeless(self, held: HeldRun, why: AgioError) -> None:
        if self._workers.let_go(held):
            self._spawn(self._end(Claimed(held.info, held.agent, held.info.session_id), why))

    async def _take_and_end(self, info: RunInfo) -> None:
        by = ClaimBy(GATEWAY, hash_token(secrets.token_urlsafe(32)))
        self.forget(info.run_id)
        try:
            claimed = await self._store.reclaim(info.run_id, info.epoch, by)
            latest = info if claimed is not None else await self._store.get_run(info.run_id)
        except UserError:  # it was deleted
            return
        except StoreError as error:
            _log.warning("cancelled run %s could not be ended yet: %s", info.run_id, error, extra=about(info))
            await asyncio.sleep(self._times.tick_s)
            self.end_cancelled(info)
            return
        held = self._workers.runs.get(info.run_id)
        if held is not None and held.info.epoch == info.epoch:
            self._workers.drop(held)
        if claimed is not None:
            await self._end(claimed)
        elif latest.status == "running":  # somebody took it over a moment ago, and may not know
            self.end_cancelled(latest)

    async def _end(self, claimed: Claimed, failure: AgioError | None = None) -> None:
        """Write a run's end under the claim there is; while the store fails, the claim stays good."""
        try:
            while (trouble := await self._try_to_end(claimed, failure)) is not None:
                info = claimed.info
                _log.warning("run %s could not be ended yet: %s", info.run_id, trouble, extra=about(info))
                await asyncio.sleep(self._times.tick_s)
        except UserError:  # it was deleted
            pass
        self.ring()

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
                "a run could not be prepared or ended; it is taken over at the next start", exc_info=error
            )
