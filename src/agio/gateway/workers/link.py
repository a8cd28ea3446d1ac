"""LinkService: what workers may ask of this gateway, and what it asks of them. One object, however they are linked.

Each worker gets a `WorkerLink` of its own. Every call on it is checked against the claim it comes with.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import structs

from agio.core.config import AgentRunConfig, ServerLimits
from agio.core.file import UNUSED_MS, FilePiece
from agio.core.link.link import (
    Answer,
    Claim,
    Greeting,
    Task,
    TaskResult,
    ToolOffer,
    ToolReply,
    Welcome,
    Worker,
)
from agio.core.store.records import AgentRecord
from agio.core.store.repository import Append, Effect, RunInfo, ToolRecord
from agio.core.store.store import Store
from agio.core.tool import AnyTool
from agio.egress import Egress
from agio.errors import AgioError, ModelError, StoreError
from agio.gateway.counters import Counters
from agio.gateway.stream.hub import Hub
from agio.gateway.tools.calls import ToolCalls
from agio.gateway.tools.endpoints import ModelEndpoints
from agio.gateway.tools.offers import offer_tools, tools_of
from agio.gateway.tools.rack import ToolRack
from agio.gateway.workers.attendance import Attendance
from agio.gateway.workers.dispatcher import Dispatcher
from agio.gateway.workers.pool import OPERATOR, HeldRun, Permit, Seat, Workers
from agio.gateway.workers.recorder import Recorder
from agio.gateway.workers.tool_backend import ToolBackend
from agio.protocol.messages import Json
from agio.telemetry.context import REQUEST_ID, about
from agio.vault import Vault

_log = logging.getLogger("agio.gateway")

_LAST_WORDS_S = 2.0
"""How long the workers' giving back may take once their time is over."""

_DELETED_AT_ONCE = 50
"""How many old sessions, or files nobody sent, are asked for at a time."""

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
        vault: Vault | None = None,
        egress: Egress | None = None,
    ) -> None:
        config = config or AgentRunConfig()
        built_in = offer_tools(tools)
        self.rack = ToolRack(tools, config, store, vault, egress or Egress())
        self.counters = Counters()
        self.workers = Workers()
        self.endpoints = ModelEndpoints(store, vault)
        self.dispatcher = Dispatcher(
            store, hub, self.workers, self.endpoints, limits, built_in, self.counters, config.prices
        )
        self.recorder = Recorder(store, hub, self.workers, self.counters, self._freed, config.max_event_bytes)
        self.tools = ToolBackend(store, self.rack, self.counters, limits.tick_s)
        self.calls = ToolCalls(store, self.rack, self.counters, limits.tick_s)
        self.attendance = Attendance(
            store,
            self.workers,
            self.dispatcher,
            limits,
            built_in,
            on_free=self._freed,
            on_cancelled=self._expect_end,
        )
        self._store = store
        self._hub = hub
        self._built_in = built_in
        self._limits = limits
        self._tasks: list[asyncio.Task[None]] = []
        self._empty = asyncio.Event()

    async def start(self, takeover: Takeover = "after grace") -> None:
        """Find the runs that are running, and begin to dispatch. Raises StoreError."""
        found = await self._store.running_runs()
        self.calls.others = takeover != "at once"
        if takeover == "at once":
            self.attendance.offered = None
            self.attendance.take_over(found)
        else:
            grace_s = self._limits.link_grace_s
            asyncio.get_running_loop().call_later(grace_s, self.attendance.take_over, found)
        self._tasks = [
            asyncio.create_task(self.dispatcher.run(), name="agio dispatcher"),
            asyncio.create_task(self.attendance.watch(), name="agio watch"),
            asyncio.create_task(self._sweep(), name="agio sweep"),
        ]
        self.dispatcher.ring()

    async def watch(self) -> None:
        """Wait until one of the side tasks ends, which none should while we are open. Raises what ended it."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            if not task.cancelled():
                task.result()

    async def drain(self, within_s: float) -> None:
        """Claim nothing more, and let the workers finish their turns or give their runs back."""
        self.dispatcher.claiming = False
        for seat in self.workers.seats.values():
            if seat.worker is not None:
                seat.worker.drain(within_s)
        try:
            async with asyncio.timeout(within_s + _LAST_WORDS_S):
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
        await self.calls.close()

    def offers_of(self, agent: AgentRecord) -> dict[str, ToolOffer]:
        """Return the tools an agent has now, at the gateway and at the workers that are here, by name."""
        return tools_of(agent, self._built_in, self.workers.tools_for(agent.tenant))

    def connect(self, worker: Worker, permit: Permit = OPERATOR) -> "WorkerLink":
        """Give a worker its link. It begins with `greet`."""
        return WorkerLink(self, worker, permit)

    def beat(self, worker: str, permit: Permit = OPERATOR) -> bool:
        """Take a worker's heartbeat. False: it has no seat here, and must come again."""
        seat = self.workers.seats.get((permit, worker))
        if seat is None:
            return False
        seat.beats = True
        seat.seen = time.monotonic()
        return True

    async def perform(self, task: Task, tenant: str) -> TaskResult:
        """Let a worker that may serve a tenant do a short model job for it.

        Raises ModelError `no_worker`, and what the worker raises.
        """
        here = [
            seat
            for seat in self.workers.seats.values()
            if seat.worker is not None and not seat.leaving and seat.may_serve(tenant)
        ]
        seat = max(here, key=lambda seat: seat.room - len(seat.runs) - seat.tasks, default=None)
        if seat is None or seat.worker is None:
            raise ModelError("no_worker", "No worker is there to ask a model. Start one.", retryable=True)
        seat.tasks += 1
        try:
            return await seat.worker.perform(structs.replace(task, request_id=REQUEST_ID.get()))
        finally:
            seat.tasks -= 1

    async def read_file(self, info: RunInfo, file_id: str, idx: int) -> FilePiece:
        """Read a piece of a file of the session's. Raises UserError `file_not_found`."""
        return await self._store.read_session_file(info.tenant, info.user, info.session_id, file_id, idx)

    async def note_given_back(self, info: RunInfo) -> None:
        """Keep in the store that a run was given back in good order."""
        try:
            await self._store.give_back(info.run_id, info.epoch)
        except StoreError as error:
            words = "that run %s was given back could not be noted: %s"
            _log.warning(words, info.run_id, error, extra=about(info))

    def cancel(self, info: RunInfo) -> None:
        """Tell whoever runs a run to end it; if nobody does so in time, it is ended here."""
        held = self.workers.runs.get(info.run_id)
        if held is None:
            if info.status == "running":
                self.dispatcher.end_cancelled(info)
        elif not held.cancelled:
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
        asyncio.get_running_loop().call_later(self._limits.cancel_s, self._end_disobeyed, held)

    def _end_disobeyed(self, held: HeldRun) -> None:
        if self.workers.runs.get(held.info.run_id) is held:
            self.dispatcher.end_cancelled(held.info)

    def _freed(self) -> None:
        self._empty.set()
        self.dispatcher.ring()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self._limits.sweep_s)
            try:
                if await self._store.expire_interrupts():
                    self.dispatcher.ring()
                await self._store.sweep()
                await self._delete_old_sessions()
                await self._delete_unused_files()
            except AgioError as error:
                _log.warning("the store could not be swept: %s", error)

    async def _delete_old_sessions(self) -> None:
        while True:
            deleted = await self._store.delete_old_sessions(_DELETED_AT_ONCE)
            for session_id in deleted:
                self._hub.forget(session_id)
            if len(deleted) < _DELETED_AT_ONCE:
                return

    async def _delete_unused_files(self) -> None:
        before = time.time_ns() // 1_000_000 - UNUSED_MS
        while await self._store.sweep_files(before, _DELETED_AT_ONCE) == _DELETED_AT_ONCE:
            pass


class WorkerLink:
    """One worker's link, `core.link.Link`. Whoever carries it says when it is alive and when it is closed."""

    def __init__(self, service: LinkService, worker: Worker, permit: Permit) -> None:
        self._service = service
        self._worker = worker
        self._permit = permit
        self._seat: Seat | None = None
        self._beats = False
        self._closed = False

    async def greet(self, greeting: Greeting) -> Welcome:
        """See `Link`."""
        self._seat, welcome = await self._service.attendance.greet(self, self._worker, greeting, self._permit)
        self._seat.beats = self._beats
        if self._closed:
            self.closed()
        return welcome

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

    async def read_file(self, claim: Claim, file_id: str, idx: int) -> FilePiece:
        """See `Link`. A run has the files of its session, and no others."""
        return await self._service.read_file(self._check(claim).info, file_id, idx)

    async def release(self, claim: Claim) -> None:
        """See `Link`. When the gateway stops, whoever begins next must know that this was no crash."""
        held = self._check(claim)
        if not self._service.dispatcher.claiming:
            await self._service.note_given_back(held.info)
        self._service.attendance.release(held)

    async def leave(self) -> None:
        """See `Link`."""
        if self._seat is not None:
            self._service.attendance.leave(self._seat)

    async def linked(self) -> None:
        """See `Link`. Whoever calls this directly is here."""

    def out_of_touch(self) -> bool:
        """See `Link`. Whoever calls this directly is here."""
        return False

    def alive(self) -> bool:
        """Note a sign of life: from the first on, silence means something. False: it has no seat, or no more."""
        self._beats = True
        return self._seat is not None and self._service.beat(self._seat.id, self._permit)

    def dismissed(self) -> None:
        """Note that the worker may do nothing any more: its key was revoked."""
        if self._seat is not None and self._seat.link is self:
            self._service.attendance.dismiss(self._seat)

    def closed(self) -> None:
        """Note that the link was closed."""
        self._closed = True
        if self._seat is not None:
            self._service.attendance.closed(self._seat, self)

    def _check(self, claim: Claim) -> HeldRun:
        if self._seat is None:
            raise StoreError("stale_epoch", "A worker greets before it asks for anything.")
        self._seat.seen = time.monotonic()
        return self._service.workers.check(claim, self._seat)
