"""A gateway in this process without a socket, on a real store, and workers that a test plays by hand."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from agio.core.config import AgentRunConfig, Price, ServerLimits
from agio.core.engine.journal import Journal
from agio.core.identity.principal import Principal
from agio.core.link.link import Answer, Claim, Greeting, Job, Link, Task, TaskResult, ToolOffer, Welcome
from agio.core.log_level import KNOWN
from agio.core.model import Usage, VendorTurn
from agio.core.run.fold import Fold, fold_log
from agio.core.store.records import (
    Accepted,
    AgentFields,
    AgentTool,
    ApprovalPolicy,
    OnBusy,
    SessionRecord,
    Submission,
)
from agio.core.store.repository import Append, Effect, RunInfo, RunInput, ToolBegin, TurnRecord
from agio.core.store.store import Store
from agio.core.tool import AnyTool
from agio.db.postgres.executor import open_postgres
from agio.db.repository import Repository, open_store
from agio.egress import Egress
from agio.gateway.auth.authenticator import Authenticator
from agio.gateway.auth.oidc import OidcProviders
from agio.gateway.workers.link import WorkerLink
from agio.gateway.workers.pool import Takeover
from agio.gateway.workers.recall import Recall
from agio.gateway.workers.shelf import Shelf
from agio.protocol.events import (
    RunFinished,
    StepFinished,
    StepStarted,
    SuccessOutcome,
    TextMessageChunk,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallStart,
)
from agio.protocol.frames import ends_run
from agio.protocol.ids import id_body, new_id
from agio.protocol.messages import Json, ResumeEntry, UserMessage
from agio.server.composition import GatewayConfig, Resources, make_gateway
from agio.vault import Vault

T = TypeVar("T")

PATIENCE_S = 60.0
QUICK = ServerLimits(
    link_grace_s=0.05, cancel_s=0.05, silence_s=3600.0, tick_s=0.05, sweep_s=0.05, recheck_s=0.05
)
"""Short waits. A silent worker is not given up: the machine may be slow."""
ANN = Principal("default", "ann", "member", "key_1")
LATER = 3600.0
NOTHING = Usage()
PRICES = {"demo:demo": Price(1.0, 2.0)}


class HandWorker:
    """A worker that does nothing by itself: it keeps what it is given and told."""

    def __init__(self) -> None:
        self.jobs: asyncio.Queue[Job] = asyncio.Queue()
        self.cancelled: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
        self.dropped: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
        self.given: asyncio.Queue[tuple[str, list[int]]] = asyncio.Queue()
        self.drained = asyncio.Event()
        self.reports: list[tuple[str, str, Json]] = []

    def start(self, job: Job) -> None:
        self.jobs.put_nowait(job)

    def cancel(self, run_id: str, epoch: int) -> None:
        self.cancelled.put_nowait((run_id, epoch))

    def give(self, run_id: str, epoch: int, inputs: list[RunInput]) -> None:
        self.given.put_nowait((run_id, [each.idx for each in inputs]))

    def drop(self, run_id: str, epoch: int) -> None:
        self.dropped.put_nowait((run_id, epoch))

    def drain(self, within_s: float) -> None:
        self.drained.set()

    def report(self, run_id: str, epoch: int, key: str, progress: Json) -> None:
        self.reports.append((run_id, key, progress))

    async def perform(self, task: Task) -> TaskResult:
        return TaskResult(f"{task.model} was asked: {task.prompt}", Usage(input=1, output=1))

    async def next_job(self) -> Job:
        return await soon(self.jobs.get())


class Hand:
    """A job in a test's hand: its log goes on as a worker would write it, one call at a time."""

    def __init__(self, link: Link, job: Job) -> None:
        self.job = job
        self.claim = job.claim
        self.run_id = job.claim.run_id
        self.answers: list[Answer] = []
        fold = Fold()
        for earlier in job.history:
            fold_log(fold, earlier)
        fold_log(fold, job.log)
        self.link = link
        self.journal = Journal(fold, self.run_id, job.claim.epoch, self._append, prices=PRICES)
        self.journal.seq = fold.seq
        self.journal.shown = False

    async def _append(self, write: Append) -> None:
        self.answers.append(await self.link.append(self.claim, write))

    async def say(self, text: str) -> None:
        """Let the model say something, in a turn that stays open."""
        if not self.journal.fold.step_open:
            self.journal.emit(StepStarted("step-1"))
        self.journal.emit(TextMessageChunk(message_id=f"msg_{id_body(self.run_id)}_1", delta=text))
        await soon(self.journal.commit())

    def turn(self, usage: Usage = NOTHING) -> None:
        """Let the model's turn be complete."""
        fold = self.journal.fold
        vendor = VendorTurn("scripted", [])
        self.journal.record(
            TurnRecord(self.run_id, fold.step, self.journal.seq, "demo:demo", "end", usage, vendor)
        )

    async def ask(self, tool: str, arguments: str = "{}", effect: Effect = "once") -> str:
        """Let the model ask for a tool, and commit that it begins; returns the call's key."""
        key = f"call_{id_body(self.run_id)}_1_0"
        if not self.journal.fold.step_open:
            self.journal.emit(StepStarted("step-1"))
        self.journal.emit(ToolCallStart(key, tool, parent_message_id=f"msg_{id_body(self.run_id)}_1"))
        self.journal.emit(ToolCallArgs(key, arguments))
        self.journal.emit(ToolCallEnd(key))
        self.turn()
        self.journal.begin(ToolBegin(key, tool, effect))
        await soon(self.journal.commit())
        return key

    async def finish(self) -> None:
        """End the run well."""
        fold = self.journal.fold
        if fold.draft is not None:
            self.turn()
        if fold.step_open:
            self.journal.emit(StepFinished("step-1"))
        done = RunFinished(fold.session_id, self.run_id, outcome=SuccessOutcome())
        self.journal.end(done, "completed")
        await soon(self.journal.commit())


class Engine:
    """The parts of one gateway, and what tests do with them."""

    def __init__(self, store: Store, limits: ServerLimits, tools: Mapping[str, AnyTool]) -> None:
        self.store = store
        vault = Vault([b"k" * 32])
        recall = Recall(store)
        resources = Resources(
            store=store,
            egress=Egress(),
            vault=vault,
            oidc=OidcProviders(),
            recall=recall,
            shelf=Shelf(store, recall),
        )
        config = AgentRunConfig(cancel_grace_s=0.01, prices=PRICES)
        plan = GatewayConfig(database=Path("agio.db"), limits=limits)
        made = make_gateway(plan, resources, tools, config)
        self.gateway = replace(made, auth=Authenticator(store), providers=frozenset({"demo"}))
        self.hub = self.gateway.hub
        self.pool = self.gateway.pool
        self.intake = self.gateway.intake

    async def join(
        self,
        name: str = "w1",
        *,
        room: int = 10,
        agents: Sequence[AgentFields] = (),
        tools: Sequence[ToolOffer] = (),
        claims: Sequence[Claim] = (),
        log_level: int = KNOWN,
    ) -> tuple[HandWorker, WorkerLink, Welcome]:
        """Let a worker come, or come back."""
        worker = HandWorker()
        link = self.pool.connect(worker)
        greeting = Greeting(
            worker=name,
            room=room,
            agents=list(agents),
            tools=list(tools),
            claims=list(claims),
            log_level=log_level,
        )
        return worker, link, await soon(link.greet(greeting))

    async def session(
        self, who: Principal = ANN, tools: Sequence[AgentTool] = (), approval: ApprovalPolicy = "tool"
    ) -> SessionRecord:
        """Start a session of somebody with a new agent."""
        await self.store.add_tenant(who.tenant, who.tenant)
        await self.store.add_user(who.tenant, who.user, who.user, who.role)
        fields = AgentFields(
            name=new_id("run"),
            system_prompt="Be brief.",
            model_provider="demo",
            model_name="demo",
            tools=list(tools),
            approval=approval,
        )
        agent = await self.store.create_agent(who.tenant, fields)
        return await self.store.start_session(who.tenant, who.user, agent.id)

    async def say(
        self,
        session: SessionRecord,
        text: str = "Hi",
        *,
        who: Principal = ANN,
        resume: Sequence[ResumeEntry] = (),
        on_busy: OnBusy | None = None,
    ) -> Accepted:
        """Send a message."""
        messages = [UserMessage(id=new_id("msg"), content=text)] if text else []
        given = Submission(
            session_id=session.id, run_id=new_id("run"), messages=messages, resume=resume, on_busy=on_busy
        )
        return await soon(self.intake.accept(who, given))

    async def log(self, run_id: str) -> list[str]:
        """Return the types of a run's events."""
        return [event.type for event in await self.store.get_events(run_id)]

    async def read(self, session: SessionRecord, count: int, after: int = 0) -> bytes:
        """Read so many events as a live reader would."""
        payload = b""
        async with self.hub.subscribe(session.id, after) as reader:
            while payload.count(b"\n") < count:
                piece = await soon(reader.next())
                assert piece is not None
                payload += piece.events.payload
        return payload

    async def ended(self, session: SessionRecord, run_id: str) -> RunInfo:
        """Read a session until a run has ended, and return what is known of the run."""
        async with self.hub.subscribe(session.id, 0) as reader:
            while True:
                piece = await soon(reader.next())
                assert piece is not None
                if piece.events.run_id == run_id and ends_run(piece.events.payload):
                    return await self.store.get_run(run_id)


@asynccontextmanager
async def engine(
    limits: ServerLimits = QUICK,
    *,
    tools: Mapping[str, AnyTool] | None = None,
    path: Path | str | None = None,
    takeover: Takeover = "at once",
) -> AsyncGenerator[Engine]:
    """Start a gateway on a real store: in memory, in a file, or at a URL."""
    if isinstance(path, str):
        store = Repository(await open_postgres(path))
    else:
        store = await open_store(path or ":memory:")
    room = Engine(store, limits, tools or {})
    try:
        await room.gateway.start(takeover)
        yield room
    finally:
        await room.gateway.close()
        await store.close()


async def soon(waiting: Awaitable[T]) -> T:
    """Wait, but not for ever."""
    async with asyncio.timeout(PATIENCE_S):
        return await waiting
