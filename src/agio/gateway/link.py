"""LinkService: what workers may ask of this gateway, and what it asks of them. One object, however they are linked.

Each worker gets a `WorkerLink` of its own. Every call on it is checked against the claim it comes with.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Literal, TypeAlias

from agio.core.config import AgentRunConfig, ServerLimits
from agio.core.link import (
    Answer,
    Claim,
    Greeting,
    Task,
    TaskResult,
    ToolReply,
    Welcome,
    Worker,
)
from agio.core.repository import Append, Effect, RunInfo, ToolRecord
from agio.core.store import DEFAULT_TENANT, AgentFields, Store
from agio.core.tool import AnyTool
from agio.errors import AgioError, ModelError, StoreError, UserError
from agio.gateway.dispatcher import Dispatcher
from agio.gateway.figures import Figures
from agio.gateway.hub import Hub
from agio.gateway.offers import offer_tools, tools_of
from agio.gateway.recorder import Recorder
from agio.gateway.tool_backend import ToolBackend
from agio.gateway.workers import HeldRun, Seat, Workers, fits
from agio.protocol.messages import Json

_log = logging.getLogger("agio.gateway")

Takeover: TypeAlias = Literal["at once", "after grace"]
"""When a gateway that starts takes over the runs it finds running: at once if no worker can have outlived it."""


class LinkService:
    """The gateway's side of every link. `start` it before the first worker comes."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        limits: ServerLimits,
        tools: Mapping[str, AnyTool],
        config: AgentRunConfig | None = None,
    ) -> None:
        self.figures = Figures()
        self.workers = Workers()
        self.limits = limits
        self._store = store
        self._built_in = offer_tools(tools)
        self.dispatcher = Dispatcher(store, hub, self.workers, limits, self._built_in, self.figures)
        self.recorder = Recorder(store, hub, self.workers, self.figures, self._freed)
        self.tools = ToolBackend(store, tools, config or AgentRunConfig(), self.figures, limits.tick_s)
        self._offered: list[AgentFields] | None = []
        """The agents in code the store was told of last; None: whatever it has is from an earlier start."""
        self._tasks: list[asyncio.Task[None]] = []
        self._empty = asyncio.Event()

    async def start(self, takeover: Takeover = "after grace") -> None:
        """Find the runs that are running, and begin to dispatch. Raises StoreError."""
        found = await self._store.running_runs()
        if takeover == "at once":
            self._offered = None
            self._take_over(found)
        else:
            asyncio.get_running_loop().call_later(self.limits.link_grace_s, self._take_over, found)
        self._tasks = [
            asyncio.create_task(self.dispatcher.run(), name="agio dispatcher"),
            asyncio.create_task(self._watch(), name="agio watch"),
            asyncio.create_task(self._sweep(), name="agio sweep"),
        ]
        self.dispatcher.ring()

    async def drain(self, within_s: float) -> None:
        """Claim nothing more, and let the workers finish their turns or give their runs back."""
        self.dispatcher.claiming = False
        for seat in self.workers.seats.values():
            if seat.worker is not None:
                seat.worker.drain(within_s)
        try:
            async with asyncio.timeout(within_s):
                while self.workers.runs:
                    self._empty.clear()
                    await self._empty.wait()
        except TimeoutError:
            _log.warning("%d runs were not given back in time", len(self.workers.runs))

    async def close(self) -> None:
        """Stop. Runs that are running go on at the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.dispatcher.close()
        await self.tools.close()

    def connect(self, worker: Worker) -> "WorkerLink":
        """Give a worker its link. It begins with `greet`."""
        return WorkerLink(self, worker)

    async def perform(self, task: Task) -> TaskResult:
        """Let a worker do a short model job. Raises ModelError `no_worker`, and what the worker raises."""
        here = [seat for seat in self.workers.seats.values() if seat.worker is not None and not seat.leaving]
        seat = max(here, key=lambda seat: seat.room - len(seat.runs) - seat.tasks, default=None)
        if seat is None or seat.worker is None:
            raise ModelError("no_worker", "No worker is there to ask a model. Start one.", retryable=True)
        seat.tasks += 1
        try:
            return await seat.worker.perform(task)
        finally:
            seat.tasks -= 1

    def cancel(self, info: RunInfo) -> None:
        """Tell whoever runs a run to end it; if nobody does so in time, it is ended here."""
        held = self.workers.runs.get(info.run_id)
        if held is None:
            if info.status == "running":
                self.dispatcher.end_cancelled(info)
            return
        if held.cancelled:
            return
        held.cancelled = True
        self._expect_end(held)

    def drop(self, info: RunInfo) -> None:
        """Let nobody go on with a run: it was deleted."""
        self.dispatcher.forget(info.run_id)
        self.tools.cancel(info.run_id)
        held = self.workers.runs.get(info.run_id)
        if held is not None:
            self.workers.drop(held)
            self._freed()

    def _expect_end(self, held: HeldRun) -> None:
        self.tools.cancel(held.info.run_id)
        if held.seat.worker is not None and held.delivered:
            held.seat.worker.cancel(held.info.run_id, held.info.epoch)
        asyncio.get_running_loop().call_later(self.limits.cancel_s, self._end_disobeyed, held)

    def _end_disobeyed(self, held: HeldRun) -> None:
        if self.workers.runs.get(held.info.run_id) is held:
            self.dispatcher.end_cancelled(held.info)

    async def greet(self, link: "WorkerLink", greeting: Greeting) -> Welcome:
        """Seat a worker, with the runs it still has a good claim to. See `Link.greet`."""
        await self._offer_agents(greeting)
        seat = self.workers.seats.setdefault(greeting.worker, Seat(greeting.worker))
        before = [held for held in seat.runs.values() if held.delivered]
        seat.sit(link.worker, greeting)
        seat.room = 0  # no new run before it is settled what becomes of the old ones
        seat.link = link
        seat.seen = time.monotonic()
        link.seat = seat
        kept = [claim.run_id for claim in greeting.claims if await self._honour(claim, seat)]
        for held in before:
            if held.info.run_id not in kept:  # the job was lost with the link, or with the worker's process
                self.give_back(held)
        seat.room = greeting.room
        self.dispatcher.ring()
        return Welcome(kept, self.limits.heartbeat_s, self.limits.worker_silence_s)

    async def _offer_agents(self, greeting: Greeting) -> None:
        """Let the agents of all workers' modules be the store's agents in code."""
        others = [seat.fields for seat in self.workers.seats.values() if seat.id != greeting.worker]
        agents = {agent.name: agent for fields in (*others, greeting.agents) for agent in fields}
        offered = [agents[name] for name in sorted(agents)]
        if offered != self._offered:
            await self._store.put_code_agents(DEFAULT_TENANT, offered)
            self._offered = offered

    async def _honour(self, claim: Claim, seat: Seat) -> bool:
        """Whether a claim from before is still good; if this gateway did not know of it, it does now."""
        held = self.workers.runs.get(claim.run_id)
        if held is not None:
            return held.seat is seat and fits(claim, held.info.epoch, held.token_hash)
        try:
            info = await self._store.get_run(claim.run_id)
            if info.status != "running" or not fits(claim, info.epoch, info.token_hash):
                return False
            agent = await self._store.get_agent(info.tenant, info.agent_id)
        except UserError:
            return False
        if claim.run_id in self.workers.runs:
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
        self.dispatcher.forget(info.run_id)
        self.workers.hold(held)
        if held.cancelled:
            self._expect_end(held)
        return True

    def closed(self, link: "WorkerLink") -> None:
        """Note that a worker's link was closed: it has a moment to come back, unless it said goodbye."""
        seat = link.seat
        if seat is None or seat.link is not link:
            return
        seat.worker = None
        if seat.leaving:
            self._give_up(seat)
        else:
            asyncio.get_running_loop().call_later(self.limits.link_grace_s, self._not_back, seat, link)

    def leave(self, seat: Seat) -> None:
        """Give a worker nothing more. What it still holds it may finish, as long as its link is there."""
        seat.leaving = True
        if not seat.runs:
            self._give_up(seat)

    def _not_back(self, seat: Seat, link: "WorkerLink") -> None:
        if seat.worker is None and seat.link is link:
            self._give_up(seat)

    def _give_up(self, seat: Seat) -> None:
        """Let others go on with a worker's runs."""
        if self.workers.seats.get(seat.id) is seat:
            del self.workers.seats[seat.id]
        for held in list(seat.runs.values()):
            self.give_back(held)

    def give_back(self, held: HeldRun) -> None:
        """Let somebody else go on with a run."""
        if self.workers.let_go(held):
            self.dispatcher.take_over(held.info)
            self._freed()

    def _take_over(self, found: list[RunInfo]) -> None:
        for info in found:
            if info.run_id not in self.workers.runs:
                self.dispatcher.take_over(info)

    def _freed(self) -> None:
        self._empty.set()
        self.dispatcher.ring()

    async def _watch(self) -> None:
        """Give up workers whose heartbeat has stopped."""
        silence_s = self.limits.silence_s
        while True:
            await asyncio.sleep(min(self.limits.tick_s, silence_s / 3))
            for seat in list(self.workers.seats.values()):
                if seat.beats and time.monotonic() - seat.seen > silence_s:
                    _log.warning("worker %s has been silent for %g s and is given up", seat.id, silence_s)
                    self._give_up(seat)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self.limits.sweep_s)
            try:
                if await self._store.expire_interrupts():
                    self.dispatcher.ring()
                await self._store.sweep()
            except AgioError as error:
                _log.warning("the store could not be swept: %s", error)


class WorkerLink:
    """One worker's link, `core.link.Link`. Whoever carries it says when it is alive and when it is closed."""

    def __init__(self, service: LinkService, worker: Worker) -> None:
        self.worker = worker
        self.seat: Seat | None = None
        self._service = service

    async def greet(self, greeting: Greeting) -> Welcome:
        """See `Link`."""
        return await self._service.greet(self, greeting)

    def append(self, claim: Claim, write: Append) -> asyncio.Future[Answer]:
        """See `Link`."""
        try:
            return self._service.recorder.append(self._check(claim), write)
        except StoreError as refusal:
            refused: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            refused.set_exception(refusal)
            return refused

    async def begin_tool(self, claim: Claim, key: str, tool: str, effect: Effect) -> ToolRecord | None:
        """See `Link`. The effect that counts is the one the tool was offered with."""
        return await self._service.tools.begin(self._check(claim), key, tool)

    async def end_tool(self, claim: Claim, key: str, record: ToolRecord) -> None:
        """See `Link`."""
        await self._service.tools.end(self._check(claim), key, record)

    async def call_tool(self, claim: Claim, key: str, tool: str, arguments: dict[str, Json]) -> ToolReply:
        """See `Link`."""
        return await self._service.tools.call(self._check(claim), key, tool, arguments)

    async def release(self, claim: Claim) -> None:
        """See `Link`."""
        self._service.give_back(self._check(claim))

    async def leave(self) -> None:
        """See `Link`."""
        if self.seat is not None:
            self._service.leave(self.seat)

    def alive(self) -> bool:
        """Take a heartbeat: from the first on, its silence means something. False: it was given up, and must come
        again."""
        seat = self.seat
        if seat is None or self._service.workers.seats.get(seat.id) is not seat:
            return False
        seat.beats = True
        seat.seen = time.monotonic()
        return True

    def closed(self) -> None:
        """Note that the link was closed."""
        self._service.closed(self)

    def _check(self, claim: Claim) -> HeldRun:
        if self.seat is None:
            raise StoreError("stale_epoch", "A worker greets before it asks for anything.")
        self.seat.seen = time.monotonic()
        return self._service.workers.check(claim, self.seat)
