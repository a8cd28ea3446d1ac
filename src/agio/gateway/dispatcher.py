"""Gives runs to workers: whenever somebody rings, it claims from the store while a worker has room (law 1).

It also takes over runs whose worker was lost, and hands those that cannot be run to the ender.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Coroutine, Mapping

from agio.core.config import ServerLimits
from agio.core.link import Claim, Job, ToolOffer, Worker
from agio.core.repository import RunInfo, RunLog
from agio.core.store import Chunk, ClaimBy, Claimed, Limits, Store
from agio.errors import AgioError, StoreError, UserError
from agio.gateway.ender import Ender
from agio.gateway.figures import Figures
from agio.gateway.hub import Hub
from agio.gateway.offers import offer_agent, tools_of
from agio.gateway.recorder import GONE
from agio.gateway.workers import HeldRun, Seat, Slot, Workers, hash_token

_log = logging.getLogger("agio.gateway")

HISTORY_MESSAGES = 200
"""How much of a session's past goes with a job: what `AgentRunConfig.max_history_messages` allows."""
GATEWAY = "gateway"
"""Who claims a run that is to be ended."""


class Dispatcher:
    """Claims runs and delivers them as jobs. `run` is its task; everything else returns at once."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        workers: Workers,
        limits: ServerLimits,
        built_in: Mapping[str, ToolOffer],
        figures: Figures,
    ) -> None:
        self.limits = Limits(limits.running_per_user, limits.running_per_tenant, limits.queued_per_tenant)
        self.claiming = True
        self._store = store
        self._hub = hub
        self._workers = workers
        self._times = limits
        self._built_in = built_in
        self._figures = figures
        self._ender = Ender(store, hub, figures)
        self._rung = asyncio.Event()
        self._strays: dict[str, RunInfo] = {}
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
        while True:
            try:
                async with asyncio.timeout(self._times.tick_s):
                    await self._rung.wait()
            except TimeoutError:
                self._waiting = True
            self._rung.clear()
            try:
                while self.claiming and (await self._claim_stray() or await self._claim_next()):
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

    def reserve(self, seat: Seat | None = None) -> Slot | None:
        """Keep room at a worker for a claim that is being made; None if nobody has any. `settle` gives it back."""
        seat = seat or self._workers.choose()
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
        if claimed.doomed is not None:
            self._spawn(self._end(claimed))
            return
        info = claimed.info
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
            self._show_start(info, claimed.started)
        if claimed.started and not info.first_pos:
            self._deliver(held, slot.token, RunLog(info, claimed.started), [])
        else:
            self._spawn(self._prepare(held, slot.token, claimed.started))

    def take_over(self, info: RunInfo) -> None:
        """Give a running run that nobody holds to whoever has room."""
        self._strays[info.run_id] = info
        self.ring()

    def is_stray(self, run_id: str) -> bool:
        """Whether a run waits for a worker to take it over."""
        return run_id in self._strays

    def forget(self, run_id: str) -> None:
        """Leave a run that waits to be taken over: it was deleted, or its worker came back."""
        self._strays.pop(run_id, None)

    def end_cancelled(self, info: RunInfo) -> None:
        """Claim a running run and write its end: nobody obeyed its cancellation."""
        self._spawn(self._take_and_end(info))

    async def _claim_stray(self) -> bool:
        """Take over a run if a worker can. Whether it is worth asking again."""
        for info in list(self._strays.values()):
            try:
                agent = await self._store.get_agent(info.tenant, info.agent_id)
            except UserError:
                agent = None
            seat = self._workers.choose(agent)
            if seat is None or self._strays.pop(info.run_id, None) is None:
                continue
            await self._reclaim(info, seat)
            return True
        return False

    async def _reclaim(self, info: RunInfo, seat: Seat) -> None:
        slot = self.reserve(seat)
        if slot is None:
            self._strays[info.run_id] = info
            return
        claimed = None
        try:
            claimed = await self._store.reclaim(info.run_id, info.epoch, slot.by)
        except StoreError:
            self._strays[info.run_id] = info
            raise
        finally:
            self.settle(slot, claimed)

    async def _claim_next(self) -> bool:
        """Claim the next queued run that one of the workers can run. Whether there was one."""
        if not self._waiting:
            return False
        tried: set[frozenset[str]] = set()
        for seat in self._workers.with_room():
            if seat.agents in tried or seat.free <= 0 or (slot := self.reserve(seat)) is None:
                continue
            tried.add(seat.agents)
            claimed = None
            try:
                claimed = await self._store.claim_next(
                    slot.by,
                    self.limits,
                    code_agents=sorted(seat.agents),
                    after_tenant=self._last_tenant,
                    queued_before=int((time.time() - self._times.queue_timeout_s) * 1000),
                )
            finally:
                self.settle(slot, claimed)
            if claimed is not None:
                self._last_tenant = claimed.info.tenant
                return True
        if tried:
            self._waiting = False  # before the store is asked: what is queued meanwhile says so itself
            self._waiting = (await self._store.count_runs()).get("queued", 0) > 0 or self._waiting
        return False

    async def _prepare(self, held: HeldRun, token: str, started: bytes) -> None:
        """Read what a job needs, trying again while the store fails: the claim stays good meanwhile."""
        info, store = held.info, self._store
        while self._workers.runs.get(info.run_id) is held:
            try:
                log = RunLog(info, started) if started else await store.get_log(info.run_id)
                history = (
                    await store.history(info.thread_id, info.first_pos, HISTORY_MESSAGES)
                    if info.first_pos
                    else []
                )
            except UserError:  # it was deleted
                self._workers.let_go(held)
            except StoreError as error:
                _log.warning("run %s waits for the store: %s", info.run_id, error)
                await asyncio.sleep(self._times.tick_s)
            else:
                if not started and info.last_seq <= 1:
                    self._show_start(info, log.payload)
                self._deliver(held, token, log, history)
                return

    def _deliver(self, held: HeldRun, token: str, log: RunLog, history: list[RunLog]) -> None:
        info, worker = held.info, held.seat.worker
        if self._workers.runs.get(info.run_id) is not held:
            return
        job = Job(
            claim=Claim(info.run_id, info.epoch, token),
            agent=offer_agent(held.agent),
            tools=list(held.tools.values()),
            log=log,
            history=history,
        )
        if worker is None or not _start(worker, job):  # nobody has begun, so nobody needs time to come back
            self._workers.let_go(held)
            self.take_over(info)
            return
        held.delivered = True
        if held.cancelled:
            worker.cancel(info.run_id, info.epoch)

    def _show_start(self, info: RunInfo, payload: bytes) -> None:
        self._hub.publish(info.thread_id, Chunk(info.run_id, info.first_pos + 1, 1, payload))

    async def _take_and_end(self, info: RunInfo) -> None:
        by = ClaimBy(GATEWAY, hash_token(secrets.token_urlsafe(32)))
        self._strays.pop(info.run_id, None)
        try:
            claimed = await self._store.reclaim(info.run_id, info.epoch, by)
        except StoreError as error:
            _log.warning("cancelled run %s could not be ended yet: %s", info.run_id, error)
            self._strays[info.run_id] = info
            return
        held = self._workers.runs.get(info.run_id)
        if held is not None and held.info.epoch == info.epoch:
            self._workers.drop(held)
        if claimed is not None:
            await self._end(claimed)

    async def _end(self, claimed: Claimed) -> None:
        try:
            await self._ender.end(claimed)
        except StoreError as error:
            if error.code not in GONE:
                _log.warning("run %s could not be ended yet: %s", claimed.info.run_id, error)
                self._strays[claimed.info.run_id] = claimed.info
                return
        except UserError:  # it was deleted
            pass
        self.ring()

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


def _start(worker: Worker, job: Job) -> bool:
    try:
        worker.start(job)
    except AgioError as error:
        _log.info("run %s goes to another worker: %s", job.claim.run_id, error)
        return False
    return True
