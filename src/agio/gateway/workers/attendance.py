"""Which workers are there: they come, come back after their link broke, fall silent, leave.

A worker that is gone for good loses its runs to the others; one that comes back in time keeps them.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from agio.core.config import ServerLimits
from agio.core.identity.principal import DEFAULT_TENANT
from agio.core.link.link import Claim, Greeting, ToolOffer, Welcome, Worker
from agio.core.store.records import AgentFields
from agio.core.store.repository import RunInfo
from agio.core.store.store import Store
from agio.errors import LimitExceeded, UserError
from agio.gateway.tools.offers import tools_of
from agio.gateway.workers.dispatcher import Dispatcher
from agio.gateway.workers.pool import MAX_ROOM, HeldRun, Permit, Seat, Workers, fits

_log = logging.getLogger("agio.gateway")

ID_BYTES = 256
WORKERS_PER_KEY = 256
MAX_AGENTS = 200
MAX_TOOLS = 1000
MAX_PROVIDERS = 200
GREETING_BYTES = 2 * 1024 * 1024


class Attendance:
    """Seats workers and gives up those who are gone.

    `on_free` is called when a run has lost its worker, `on_cancelled` for one that a worker brings along and that
    was to be cancelled.
    """

    def __init__(
        self,
        store: Store,
        workers: Workers,
        dispatcher: Dispatcher,
        limits: ServerLimits,
        built_in: Mapping[str, ToolOffer],
        *,
        on_free: Callable[[], None],
        on_cancelled: Callable[[HeldRun], None],
    ) -> None:
        self.offered: dict[str, list[AgentFields]] | None = {}
        """The agents in code the store was told of last, by tenant; None: what it has may be from an earlier start."""
        self._store = store
        self._workers = workers
        self._dispatcher = dispatcher
        self._limits = limits
        self._built_in = built_in
        self._on_free = on_free
        self._on_cancelled = on_cancelled
        self._coming = asyncio.Lock()

    async def greet(
        self, link: object, worker: Worker, greeting: Greeting, permit: Permit
    ) -> tuple[Seat, Welcome]:
        """Seat a worker, with the runs it still has a good claim to.

        Raises UserError `agent_exists`, `invalid_greeting`, LimitExceeded `too_many_workers`, StoreError.
        """
        _check_greeting(greeting)
        async with self._coming:  # one by one, because the agents in code are those of all workers together
            self._check_room(greeting.worker, permit)
            await self._offer_agents(greeting, permit)
            seat = self._workers.seats.setdefault((permit, greeting.worker), Seat(greeting.worker, permit))
            before = [held for held in seat.runs.values() if held.delivered]
            seat.sit(worker, greeting)
        room, seat.room = seat.room, 0  # no new run before it is settled what becomes of the old ones
        seat.link = link
        seat.seen = time.monotonic()
        try:
            kept = [claim.run_id for claim in greeting.claims if await self._honour(claim, seat)]
        except BaseException:
            self.closed(seat, link)
            raise
        for held in before:
            if held.info.run_id not in kept:  # the job was lost with the link, or with the worker's process
                self.give_back(held)
        seat.room = room
        self._dispatcher.ring()
        return seat, Welcome(kept, self._limits.heartbeat_s, self._limits.worker_silence_s)

    def _check_room(self, worker_id: str, permit: Permit) -> None:
        seats = self._workers.seats
        if (permit, worker_id) not in seats and sum(key[0] == permit for key in seats) >= WORKERS_PER_KEY:
            raise LimitExceeded(
                "too_many_workers", f"{WORKERS_PER_KEY} workers with this key are here already."
            )

    async def _offer_agents(self, greeting: Greeting, permit: Permit) -> None:
        """Let the agents of all workers' modules be the store's agents in code, in the tenants they serve."""
        coming = Seat(greeting.worker, permit)
        coming.fields = greeting.agents
        agents: dict[str, dict[str, AgentFields]] = {DEFAULT_TENANT: {}}
        for seat in (*(seat for seat in self._workers.seats.values() if seat.key != coming.key), coming):
            for tenant in seat.code_tenants:
                agents.setdefault(tenant, {}).update({agent.name: agent for agent in seat.fields})
        known = self.offered
        for tenant, named in agents.items():
            offered = [named[name] for name in sorted(named)]
            if known is None or offered != known.get(tenant, []):
                await self._store.put_code_agents(tenant, offered)
                self.offered = {**(self.offered or {}), tenant: offered}

    async def _honour(self, claim: Claim, seat: Seat) -> bool:
        """Whether a claim from before is still good; if this gateway did not know of it, it does now."""
        held = self._workers.runs.get(claim.run_id)
        if held is not None:
            return held.seat is seat and fits(claim, held.info.epoch, held.token_hash)
        try:
            info = await self._store.get_run(claim.run_id)
            if not seat.may_serve(info.tenant):
                return False
            if info.status != "running" or not fits(claim, info.epoch, info.token_hash):
                return False
            agent = await self._store.get_agent(info.tenant, info.agent_id)
        except UserError:
            return False
        if claim.run_id in self._workers.runs:
            return False  # it was taken over while we looked
        held = HeldRun(
            info=info,
            agent=agent,
            token_hash=info.token_hash,
            seat=seat,
            tools=tools_of(agent, self._built_in, seat.tools),
            last_seq=info.last_seq,
            delivered=True,
            cancelled=info.cancel_requested,
        )
        self._dispatcher.forget(info.run_id)
        self._workers.hold(held)
        if held.cancelled:
            self._on_cancelled(held)
        return True

    def leave(self, seat: Seat) -> None:
        """Give a worker nothing more. What it still holds it may finish, as long as its link is there."""
        seat.leaving = True
        if not seat.runs:
            self._give_up(seat)

    def dismiss(self, seat: Seat) -> None:
        """Take everything from a worker at once: its key was revoked."""
        self._give_up(seat)

    def closed(self, seat: Seat, link: object) -> None:
        """Note that a worker's link was closed: it has a moment to come back, unless it said goodbye."""
        if seat.link is not link:
            return
        seat.worker = None
        if seat.leaving:
            self._give_up(seat)
        else:
            asyncio.get_running_loop().call_later(self._limits.link_grace_s, self._not_back, seat, link)

    def _not_back(self, seat: Seat, link: object) -> None:
        if seat.worker is None and seat.link is link:
            self._give_up(seat)

    async def watch(self) -> None:
        """Give up workers whose heartbeat has stopped, for ever."""
        silence_s = self._limits.silence_s
        while True:
            await asyncio.sleep(min(self._limits.tick_s, silence_s / 3))
            for seat in list(self._workers.seats.values()):
                if seat.beats and time.monotonic() - seat.seen > silence_s:
                    _log.warning("worker %s has been silent for %g s and is given up", seat.id, silence_s)
                    self._give_up(seat)

    def _give_up(self, seat: Seat) -> None:
        if self._workers.seats.get(seat.key) is seat:
            del self._workers.seats[seat.key]
        seat.worker = None
        for held in list(seat.runs.values()):
            self.give_back(held)

    def release(self, held: HeldRun) -> None:
        """Take a run back from its worker. One that is leaving has not failed at it."""
        self.give_back(held, in_order=held.seat.leaving)

    def give_back(self, held: HeldRun, *, in_order: bool = False) -> None:
        """Let somebody else go on with a run."""
        if self._workers.let_go(held):
            self._dispatcher.pass_on(held, given_back=in_order)
            self._on_free()

    def take_over(self, found: Sequence[RunInfo]) -> None:
        """Give runs that were found running to the workers, but for those whose worker has come back.

        One that was to be cancelled needs no worker to end. A run that no worker ever had is a program's own,
        which may go on with it.
        """
        for info in found:
            if info.run_id in self._workers.runs or info.worker is None:
                continue
            if info.cancel_requested:
                self._dispatcher.end_cancelled(info)
            else:
                self._dispatcher.take_over(info)


def _check_greeting(greeting: Greeting) -> None:
    """Bound what a worker says of itself: it is kept, compared and offered as long as the worker is here."""
    if not 0 < len(greeting.worker.encode()) <= ID_BYTES:
        raise UserError("invalid_greeting", f"A worker's id has 1 to {ID_BYTES} bytes.")
    for what, given, most in (
        ("agents", greeting.agents, MAX_AGENTS),
        ("tools", greeting.tools, MAX_TOOLS),
        ("claims", greeting.claims, MAX_ROOM),
        ("providers", greeting.providers, MAX_PROVIDERS),
    ):
        if len(given) > most:
            raise UserError("invalid_greeting", f"A worker has at most {most} {what}.", {"given": len(given)})
    if len(msgspec.msgpack.encode(greeting)) > GREETING_BYTES:
        raise UserError("invalid_greeting", f"A greeting has at most {GREETING_BYTES} bytes.")
