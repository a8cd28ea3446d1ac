"""Greeter: adds a worker to the pool when it connects, with its agents in code and the claims it still has."""

import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from agio.bus.signals import Joined
from agio.core.config import ServerLimits
from agio.core.identity.principal import DEFAULT_TENANT
from agio.core.link.link import Claim, Greeting, Welcome, Worker
from agio.core.log_level import INPUTS
from agio.core.store.records import AgentFields
from agio.core.store.store import Store
from agio.errors import LimitExceeded, UserError
from agio.gateway.peers import WorkerOffer
from agio.gateway.workers.connected_worker import ConnectedWorker, Permit, fits
from agio.gateway.workers.greeting_check import check_greeting
from agio.gateway.workers.link import WorkerLink

if TYPE_CHECKING:
    from agio.gateway.workers.pool import WorkerPool

WORKERS_PER_KEY = 256
_encode = msgspec.json.Encoder().encode


class Greeter:
    """Takes the greetings of workers, which begin every link."""

    def __init__(self, pool: "WorkerPool", store: Store, limits: ServerLimits) -> None:
        self._pool = pool
        self._store = store
        self._limits = limits
        self._code_agents: dict[str, list[AgentFields]] | None = {}
        """The agents in code last written to the store, by tenant; None: those of an earlier start are unknown."""
        self._offers = b"[]"
        """What was last written of the workers' offers for other gateways."""
        self._lock = asyncio.Lock()

    def forget_code_agents(self) -> None:
        """Write the agents in code anew at the next greeting: the store has those of an earlier start."""
        self._code_agents = None

    async def greet(
        self, link: WorkerLink, connection: Worker, greeting: Greeting, permit: Permit
    ) -> tuple[ConnectedWorker, Welcome]:
        """Add a worker, with the runs it still has a valid claim to.

        Raises UserError `agent_exists`, `invalid_greeting`, LimitExceeded `too_many_workers`, StoreError.
        """
        check_greeting(greeting)
        async with self._lock:  # one at a time: the agents in code are those of all workers together
            self._check_room(greeting.worker, permit)
            await self._store_code_agents(greeting, permit)
            new = ConnectedWorker(greeting.worker, permit)
            worker = self._pool.workers.setdefault(new.key, new)
            before = [run for run in worker.runs.values() if run.delivered]
            worker.update(connection, greeting)
        room, worker.room = worker.room, 0  # no new run before the old ones are settled
        worker.link = link
        worker.seen = time.monotonic()
        try:
            kept = [claim.run_id for claim in greeting.claims if await self._honour(claim, worker)]
        except BaseException:
            self._pool.closed(worker, link)
            raise
        for run in before:
            if run.info.run_id not in kept:  # the job was lost with the link, or with the worker's process
                self._pool.hand_on(run)
        worker.room = room
        self._pool.bell.set()
        return worker, Welcome(
            kept, self._limits.heartbeat_s, self._limits.worker_silence_s, self._pool.peers.gateway
        )

    def _check_room(self, worker_id: str, permit: Permit) -> None:
        if (permit, worker_id) in self._pool.workers:
            return
        if sum(key[0] == permit for key in self._pool.workers) >= WORKERS_PER_KEY:
            raise LimitExceeded(
                "too_many_workers", f"{WORKERS_PER_KEY} workers are connected with this key already."
            )

    async def _store_code_agents(self, greeting: Greeting, permit: Permit) -> None:
        """Make the agents of all workers' modules the store's agents in code, in the tenants they serve."""
        coming = ConnectedWorker(greeting.worker, permit)
        coming.take(greeting)
        agents: dict[str, dict[str, AgentFields]] = {DEFAULT_TENANT: {}}
        for worker in (*(other for other in self._pool.workers.values() if other.key != coming.key), coming):
            for tenant in worker.code_tenants:
                agents.setdefault(tenant, {}).update({agent.name: agent for agent in worker.fields})
        offered_by = {tenant: [named[name] for name in sorted(named)] for tenant, named in agents.items()}
        known = self._code_agents
        if self._pool.peers.gateway:
            await self._share(offered_by, coming)
            return
        for tenant, offered in offered_by.items():
            if known is None or offered != known.get(tenant, []):
                await self._store.put_code_agents(tenant, offered)
                self._code_agents = {**(self._code_agents or {}), tenant: offered}

    async def share_offers(self) -> None:
        """Tell other gateways what the workers here offer now, if that has changed. Raises StoreError."""
        async with self._lock:
            await self._share(self._code_agents or {}, None)

    async def _share(self, offered: Mapping[str, list[AgentFields]], coming: ConnectedWorker | None) -> None:
        others = [one for one in self._pool.connected if coming is None or one.key != coming.key]
        offers = _encode([_offer_of(one) for one in (*others, *([] if coming is None else [coming]))])
        if offers != self._offers or offered != self._code_agents:
            await self._store.put_offers(self._pool.peers.gateway, offers, offered)
            self._offers, self._code_agents = offers, dict(offered)
            self._pool.peers.bus.send(Joined())

    async def _honour(self, claim: Claim, worker: ConnectedWorker) -> bool:
        """Whether an earlier claim is still valid. One that this gateway did not know is added."""
        run = self._pool.runs.get(claim.run_id)
        if run is not None:
            honoured = run.worker is worker and fits(claim, run.info.epoch, run.token_hash)
            if honoured and run.info.log_level >= INPUTS:
                await self._pool.give_inputs(claim.run_id)
            return honoured
        try:
            info = await self._store.get_run(claim.run_id)
            if not worker.may_serve(info.tenant):
                return False
            if info.status != "running" or not fits(claim, info.epoch, info.token_hash):
                return False
            if (
                self._pool.peers.gateway
            ):  # a write: from now on the gateway that it came from cannot reclaim it
                if not await self._store.honour_run(info.run_id, info.epoch, self._pool.peers.gateway):
                    return False
                info = structs.replace(info, gateway=self._pool.peers.gateway)
            agent = await self._store.agent_to_run(info)
        except UserError:
            return False
        if claim.run_id in self._pool.runs:
            return False  # another worker claimed it meanwhile
        run = self._pool.hold(info, agent, info.token_hash, worker)
        run.delivered = True
        if info.log_level >= INPUTS:
            await self._pool.give_inputs(claim.run_id)
        if run.cancelled:
            self._pool.expect_end(run)
        return True


def _offer_of(worker: ConnectedWorker) -> WorkerOffer:
    tenants = worker.permit.tenants
    return WorkerOffer(
        tenants=None if tenants is None else sorted(tenants),
        tools=list(worker.tools.values()),
        providers=sorted(worker.providers),
    )
