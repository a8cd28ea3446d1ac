"""WorkerPool: the workers of this gateway and the runs they hold. The dispatcher fills it with runs.

A worker whose link breaks keeps its runs if it reconnects within the grace period. The runs of a lost worker become
orphans, which the dispatcher gives to other workers.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import structs

from agio.bus.signals import Beat, Cancelled, Freed, Given
from agio.core.config import ServerLimits
from agio.core.file import FilePiece
from agio.core.link.link import Claim, Task, TaskResult, ToolOffer, Worker
from agio.core.log_level import INPUTS, PLAIN
from agio.core.store.records import AgentRecord
from agio.core.store.repository import RunInfo
from agio.core.store.store import Store
from agio.errors import ModelError, StoreError
from agio.gateway.counters import Counters
from agio.gateway.peers import Peers
from agio.gateway.stream.hub import Hub
from agio.gateway.tools.offers import tools_of
from agio.gateway.workers.connected_worker import (
    OPERATOR,
    ClaimedRun,
    ConnectedWorker,
    OrphanedRun,
    Permit,
    RunAgent,
    WorkerKey,
    fits,
)
from agio.gateway.workers.greeting import Greeter
from agio.gateway.workers.link import WorkerLink
from agio.gateway.workers.recorder import Recorder
from agio.gateway.workers.task_relay import TaskRelay
from agio.gateway.workers.tool_backend import ToolBackend
from agio.telemetry.context import REQUEST_ID, about
from agio.vault import Vault

_log = logging.getLogger("agio.gateway")

_RELEASE_S = 2.0
"""How long workers may take to release their runs after the time to drain is over."""

Takeover: TypeAlias = Literal["at once", "after grace"]
"""When a gateway that starts takes over the runs it finds running: at once if no worker can have outlived it."""


class WorkerPool:
    """Connects workers, checks their claims, and cancels, drops and hands on their runs."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        limits: ServerLimits,
        tools: ToolBackend,
        built_in: Mapping[str, ToolOffer],
        counters: Counters,
        max_event_bytes: int,
        peers: Peers | None = None,
        vault: Vault | None = None,
    ) -> None:
        self.peers = peers or Peers()
        self.workers: dict[WorkerKey, ConnectedWorker] = {}
        self.runs: dict[str, ClaimedRun] = {}
        self.orphans: dict[str, OrphanedRun] = {}
        """Running runs that no worker holds."""
        self.to_end: dict[str, RunInfo] = {}
        """Cancelled runs that no worker ends; the dispatcher writes their end."""
        self.bell = asyncio.Event()
        """Set when a run may have become claimable, or a worker may have got room."""
        self.requeued = False
        """Whether a run has ended that may have left input, which the queue then has."""
        self.draining = False
        """Whether the gateway stops: no run is claimed any more."""
        self.tools = tools
        self.on_settled: Callable[[], object] = int
        """Called when a session may have become ready for a job."""
        idle_ms = int(limits.memory_idle_s * 1000)
        self.recorder = Recorder(
            store,
            hub,
            counters,
            max_event_bytes,
            on_end=self.let_go,
            on_flag=self.flag,
            on_settled=lambda: self.on_settled(),
            idle_ms=idle_ms,
        )
        self.greeter = Greeter(self, store, limits)
        self.relay = TaskRelay(self.peers, vault, self._perform_here)
        self._store = store
        self._limits = limits
        self._built_in = built_in
        self._idle = asyncio.Event()

    async def recover(self, takeover: Takeover) -> None:
        """Orphan the runs that the store has as running, unless their workers return in time. Raises StoreError."""
        found = await self._store.running_runs()
        if takeover == "at once":
            self.greeter.forget_code_agents()
            self._take_over(found)
        else:
            asyncio.get_running_loop().call_later(self._limits.link_grace_s, self._take_over, found)

    def _take_over(self, found: Sequence[RunInfo]) -> None:
        for info in found:
            if (
                info.run_id in self.runs or info.worker is None
            ):  # one without a worker is run by a program itself
                continue
            if info.cancel_requested:
                self.end_cancelled(info)
            else:
                self.orphan(OrphanedRun(info))

    async def watch(self) -> None:
        """Give up workers whose heartbeat has stopped, forever."""
        silence_s = self._limits.silence_s
        while True:
            await asyncio.sleep(min(self._limits.tick_s, silence_s / 3))
            for worker in list(self.workers.values()):
                if (
                    worker.beats
                    and time.monotonic() - worker.seen > silence_s
                    and not self._is_unheard(worker)
                ):
                    _log.warning("worker %s is given up: no heartbeat for %g s", worker.id, silence_s)
                    self.give_up(worker)

    def _is_unheard(self, worker: ConnectedWorker) -> bool:
        """Whether a worker's beats come from another gateway, and the bus that brings them is away."""
        return worker.relayed and not self.peers.bus.connected

    async def drain(self, within_s: float) -> None:
        """Claim nothing more, and wait until the workers have finished their turns or released their runs."""
        self.draining = True
        for worker in self.workers.values():
            if worker.connection is not None:
                worker.connection.drain(within_s)
        try:
            async with asyncio.timeout(within_s + _RELEASE_S):
                while self.runs:
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            _log.warning("%d runs were not released in time", len(self.runs))

    # Workers

    def connect(self, connection: Worker, permit: Permit = OPERATOR) -> WorkerLink:
        """Return the link of a worker, which begins with `greet`."""
        return WorkerLink(self, connection, permit)

    def beat(self, worker_id: str, permit: Permit = OPERATOR) -> bool:
        """Take a worker's heartbeat. False: it is not connected here, and must greet again."""
        worker = self.workers.get((permit, worker_id))
        if worker is None:
            return False
        worker.beats = True
        worker.seen = time.monotonic()
        return True

    def beat_for(self, worker_id: str, permit: Permit, gateway: str) -> int:
        """Take a heartbeat, maybe for a link to another gateway; returns the HTTP status. 410: greet again."""
        if self.beat(worker_id, permit):
            return 200
        if not self.peers.is_other(gateway):
            return 410
        if not self.peers.bus.connected:
            return 503
        self.peers.bus.send(Beat(gateway, worker_id, permit.key))
        return 200

    def hear_beat(self, beat: Beat) -> None:
        """Take a heartbeat that another gateway got for a worker that is linked here."""
        for permit, worker_id in list(self.workers):
            if worker_id == beat.worker and permit.key == beat.key:
                self.workers[permit, worker_id].relayed = True
                self.beat(worker_id, permit)

    def leave(self, worker: ConnectedWorker) -> None:
        """Give a worker no more runs. It may finish those it holds while its link is open."""
        worker.leaving = True
        if not worker.runs:
            self.give_up(worker)

    def closed(self, worker: ConnectedWorker, link: WorkerLink) -> None:
        """Take note that a worker's link was closed. Unless it is leaving, it may reconnect in the grace period."""
        if worker.link is not link:
            return
        worker.connection = None
        if worker.leaving:
            self.give_up(worker)
        else:
            asyncio.get_running_loop().call_later(self._limits.link_grace_s, self._end_grace, worker, link)

    def _end_grace(self, worker: ConnectedWorker, link: WorkerLink) -> None:
        if worker.connection is None and worker.link is link:
            self.give_up(worker)

    def give_up(self, worker: ConnectedWorker) -> None:
        """Remove a worker and hand on its runs: it is lost, has left, or its key was revoked."""
        if self.workers.get(worker.key) is worker:
            del self.workers[worker.key]
        worker.connection = None
        for run in list(worker.runs.values()):
            self.hand_on(run)

    @property
    def connected(self) -> list[ConnectedWorker]:
        """The workers whose link is open."""
        return [worker for worker in self.workers.values() if worker.connection is not None]

    def with_room(self) -> list[ConnectedWorker]:
        """Return the workers that take another run, the one with the most room first."""
        return sorted((one for one in self.workers.values() if one.free > 0), key=lambda one: -one.free)

    def choose(
        self, tenant: str, agent: AgentRecord | None = None, log_level: int = PLAIN
    ) -> ConnectedWorker | None:
        """Return the worker with the most room, of those that may serve the tenant and can run the agent and log."""
        fit = (
            one
            for one in self.with_room()
            if one.may_serve(tenant) and one.log_level >= log_level and (agent is None or one.serves(agent))
        )
        return next(fit, None)

    def tools_for(self, tenant: str) -> dict[str, ToolOffer]:
        """Return the tools of the workers that may serve a tenant, by name; also of other gateways' workers."""
        known = {tool.name: tool for offer in self.peers.workers_for(tenant) for tool in offer.tools}
        for worker in self.workers.values():
            if worker.may_serve(tenant):
                known |= worker.tools
        return known

    def providers_for(self, tenant: str) -> set[str]:
        """Return the model providers of the workers that may serve a tenant; also of other gateways' workers."""
        here = {name for one in self.workers.values() if one.may_serve(tenant) for name in one.providers}
        return here.union(*(offer.providers for offer in self.peers.workers_for(tenant)))

    def count(self, tenant: str | None = None) -> int:
        """Count the connected workers, of all gateways; with a tenant, those that may serve it."""
        here = sum(tenant is None or worker.may_serve(tenant) for worker in self.connected)
        return here + sum(1 for _ in self.peers.workers_for(tenant))

    def offers_of(self, agent: AgentRecord) -> dict[str, ToolOffer]:
        """Return the tools an agent has now, at the gateway and at the workers, by name."""
        return tools_of(agent, self._built_in, self.tools_for(agent.tenant))

    async def perform(self, task: Task, tenant: str) -> TaskResult:
        """Have a worker that may serve a tenant perform a short model task, here or at another gateway.

        Raises ModelError `no_worker`, `link_lost`, and what the worker raises.
        """
        task = structs.replace(task, request_id=REQUEST_ID.get())
        worker = self._worker_for(tenant)
        return await (self.relay.perform(task, tenant) if worker is None else _perform(worker, task))

    async def _perform_here(self, task: Task, tenant: str) -> TaskResult:
        """Perform the task of another gateway."""
        worker = self._worker_for(tenant)
        if worker is None:
            raise ModelError("no_worker", "The worker has left its gateway.", retryable=True)
        return await _perform(worker, task)

    def _worker_for(self, tenant: str) -> ConnectedWorker | None:
        """Return the worker of this gateway with the most room for a tenant's task."""
        fit = (one for one in self.connected if not one.leaving and one.may_serve(tenant))
        return max(fit, key=lambda one: one.room - len(one.runs) - one.tasks, default=None)

    # Runs

    def hold(
        self, info: RunInfo, agent: AgentRecord, token_hash: bytes, worker: ConnectedWorker
    ) -> ClaimedRun:
        """Add a run under a new claim. An earlier claim of it is revoked."""
        run = ClaimedRun(
            info=info,
            agent=agent,
            token_hash=token_hash,
            worker=worker,
            tools=tools_of(agent, self._built_in, worker.tools),
            team={
                each.name: RunAgent(each, tools_of(each, self._built_in, worker.tools)) for each in agent.team
            },
            last_seq=info.last_seq,
            cancelled=info.cancel_requested,
        )
        self.revoke(info.run_id)
        self.orphans.pop(info.run_id, None)
        self.runs[info.run_id] = worker.runs[info.run_id] = run
        return run

    def check(self, claim: Claim, worker: ConnectedWorker) -> ClaimedRun:
        """Return the run of a valid claim. Raises StoreError `stale_epoch`."""
        run = self.runs.get(claim.run_id)
        if run is None or not fits(claim, run.info.epoch, run.token_hash) or run.worker is not worker:
            raise StoreError(
                "stale_epoch",
                f"Run {claim.run_id} is no longer claimed by this worker.",
                {"run_id": claim.run_id, "epoch": claim.epoch},
            )
        return run

    async def read_file(self, run: ClaimedRun, file_id: str, idx: int) -> FilePiece:
        """Read a piece of a file of the run's session. Raises UserError `file_not_found`."""
        info = run.info
        return await self._store.read_session_file(info.tenant, info.user, info.session_id, file_id, idx)

    async def release(self, run: ClaimedRun) -> None:
        """Take a run back from its worker. A worker that leaves, or a gateway that stops, has not failed at it."""
        info = run.info
        if self.draining:
            try:
                await self._store.give_back(info.run_id, info.epoch)
            except StoreError as error:
                words = "the release of run %s could not be stored: %s"
                _log.warning(words, info.run_id, error, extra=about(info))
        self.hand_on(run, given_back=run.worker.leaving)
        if self.draining:
            self.peers.bus.send(Freed())

    def hand_on(self, run: ClaimedRun, *, given_back: bool = False) -> None:
        """Let another worker continue a run, or end it if it was cancelled."""
        if not self.let_go(run):
            return
        if run.cancelled:
            self.end_cancelled(run.info)
        else:
            self.orphan(OrphanedRun(run.info, run.agent, given_back))

    def orphan(self, orphan: OrphanedRun) -> None:
        """Give a running run to the next worker that has room."""
        self.orphans[orphan.info.run_id] = orphan
        self.bell.set()

    def let_go(self, run: ClaimedRun) -> bool:
        """Remove a run's claim. False if it was removed before."""
        run_id = run.info.run_id
        if self.runs.get(run_id) is not run:
            return False
        del self.runs[run_id]
        run.worker.runs.pop(run_id, None)
        self._idle.set()
        self.requeued = self.requeued or run.info.log_level >= INPUTS
        self.bell.set()
        return True

    def revoke(self, run_id: str, epoch: int | None = None) -> None:
        """Remove the claim of a run, or only the one with this epoch, and have its worker drop the run."""
        run = self.runs.get(run_id)
        if run is None or epoch not in (None, run.info.epoch):
            return
        self.let_go(run)
        if run.worker.connection is not None:
            run.worker.connection.drop(run_id, run.info.epoch)

    def drop(self, info: RunInfo) -> None:
        """Stop a run that was deleted."""
        self.orphans.pop(info.run_id, None)
        self.tools.cancel(info.run_id)
        self.revoke(info.run_id)

    def cancel(self, info: RunInfo) -> None:
        """Have the worker of a run end it. A run that no worker ends in time is ended by the dispatcher."""
        if info.run_id in self.runs:
            self.flag(self.runs[info.run_id])
        elif info.status == "running" and self.peers.is_other(info.gateway):
            self.peers.bus.send(Cancelled(info.run_id))
            asyncio.get_running_loop().call_later(self._limits.cancel_s, self.end_cancelled, info)
        elif info.status == "running":
            self.end_cancelled(info)

    def flag(self, run: ClaimedRun) -> None:
        """Take note that a run is to be cancelled."""
        if not run.cancelled:
            run.cancelled = True
            self.expect_end(run)

    def delete_session(self, session_id: str) -> None:
        """Stop the runs of a session that was deleted."""
        for run in [run for run in self.runs.values() if run.info.session_id == session_id]:
            self.drop(run.info)

    def adopt(self, info: RunInfo) -> None:
        """Take in a running run that lost its gateway or its worker. That a gateway is lost is not the run's fault."""
        if info.run_id in self.runs or info.run_id in self.orphans or info.run_id in self.to_end:
            return
        if info.cancel_requested:
            self.end_cancelled(info)
        else:
            self.orphan(OrphanedRun(info, given_back=bool(info.gateway)))

    async def free(self, orphan: OrphanedRun) -> None:
        """Let other gateways take over a run that no worker here can take. Raises StoreError."""
        info = orphan.info
        if self.peers.live == 1 or info.gateway != self.peers.gateway:
            return
        if orphan.given_back:
            await self._store.give_back(info.run_id, info.epoch)
        else:
            await self._store.free_run(info.run_id, info.epoch, info.gateway)
        orphan.info = structs.replace(info, gateway="")
        self.peers.bus.send(Freed())

    def end_cancelled(self, info: RunInfo) -> None:
        """Have the dispatcher write the end of a cancelled run."""
        self.orphans.pop(info.run_id, None)
        self.to_end[info.run_id] = info
        self.bell.set()

    async def give_inputs(self, run_id: str) -> None:
        """Send a run's waiting input to its worker, if it knows what that is. Otherwise the next claim brings it."""
        run = self.runs.get(run_id)
        if run is None:
            self.peers.bus.send(Given(run_id))
            return
        await self.bring_inputs(run)

    async def bring_inputs(self, run: ClaimedRun) -> None:
        """Send the waiting input of a run that this gateway holds."""
        run_id = run.info.run_id
        run.info = structs.replace(run.info, log_level=max(run.info.log_level, INPUTS))
        inputs = await self._store.run_inputs(run_id)
        connection = run.worker.connection if run.worker.log_level >= INPUTS else None
        if run.delivered and inputs and connection is not None:
            connection.give(run_id, run.info.epoch, inputs)

    def expect_end(self, run: ClaimedRun) -> None:
        """Pass a cancel on to the run's tools and worker; the dispatcher ends the run if the worker is late."""
        self.tools.cancel(run.info.run_id)
        if run.worker.connection is not None and run.delivered:
            run.worker.connection.cancel(run.info.run_id, run.info.epoch)
        asyncio.get_running_loop().call_later(self._limits.cancel_s, self._end_overdue, run)

    def _end_overdue(self, run: ClaimedRun) -> None:
        if self.runs.get(run.info.run_id) is run:
            self.end_cancelled(run.info)


async def _perform(worker: ConnectedWorker, task: Task) -> TaskResult:
    if worker.connection is None:
        raise ModelError("link_lost", "The worker disconnected.", retryable=True)
    worker.tasks += 1
    try:
        return await worker.connection.perform(task)
    finally:
        worker.tasks -= 1
