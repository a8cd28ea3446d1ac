"""A gateway in a few lines: keeps the frames of one run in order, and can be told what to refuse or hold back."""

import asyncio
from collections.abc import Callable, Sequence

from agio.core.file import FilePiece
from agio.core.link.link import AgentOffer as Offer
from agio.core.link.link import Answer, Claim, Greeting, Job, ToolOffer, ToolReply, Welcome
from agio.core.store.repository import Append, Effect, RunInfo, RunLog, ToolRecord
from agio.db.refusals import file_not_found
from agio.drivers.endpoint import Endpoint
from agio.drivers.scripted import ScriptedDriver, ScriptedTurn
from agio.errors import AgioError
from agio.protocol.codec import decode_lines, encode
from agio.protocol.events import PROTOCOL_VERSION, AgentEvent, RunStarted
from agio.protocol.messages import Json, RunAgentInput, UserMessage
from agio.worker.app import App
from agio.worker.service import WorkerService

CLAIM = Claim("run_1", 1, "token")
PATIENCE_S = 60
ToolBody = Callable[[str, dict[str, Json]], ToolReply]


class Ledger:
    """A `Link` whose store is a list."""

    def __init__(self, *refusals: AgioError) -> None:
        self.writes: list[Append] = []
        self.refusals = list(refusals)
        """What the next appends get, one each."""
        self.cancel_after: Callable[[Append], bool] = lambda write: False
        self.tool: ToolBody = lambda tool, arguments: ToolReply("done")
        self.called: list[tuple[str, str, dict[str, Json]]] = []
        self.records: dict[str, ToolRecord] = {}
        self.released: list[Claim] = []
        self.greetings: list[Greeting] = []
        self.honoured: list[str] = []
        self.left = False
        self.silent = False
        """Whether the gateway has not been heard of for too long."""
        self.changed = asyncio.Event()

    @property
    def events(self) -> list[AgentEvent]:
        """What was stored, decoded."""
        return decode_lines(b"".join(write.frame.payload for write in self.writes))

    @property
    def types(self) -> list[str]:
        """The types of what was stored."""
        return [event.type for event in self.events]

    async def until(self, true: Callable[["Ledger"], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(PATIENCE_S):
            while not true(self):
                self.changed.clear()
                await self.changed.wait()

    async def greet(self, greeting: Greeting) -> Welcome:
        self.greetings.append(greeting)
        return Welcome(self.honoured, 10.0, 20.0)

    def hurry(self, claim: Claim) -> None:
        """Nothing waits here."""

    async def append(self, claim: Claim, write: Append) -> Answer:
        await asyncio.sleep(0)
        if self.refusals:
            raise self.refusals.pop(0)
        last = self.writes[-1].frame.last_seq if self.writes else 1
        assert write.frame.first_seq == last + 1
        assert (write.end is None) == (write.outcome is None)
        self.writes.append(write)
        self.changed.set()
        return Answer(self.cancel_after(write))

    async def begin_tool(
        self, claim: Claim, key: str, tool: str, effect: Effect, lane: str = ""
    ) -> ToolRecord | None:
        return self.records.get(key)

    async def end_tool(self, claim: Claim, key: str, record: ToolRecord) -> None:
        self.records[key] = record

    async def call_tool(
        self, claim: Claim, key: str, tool: str, arguments: dict[str, Json], lane: str = "", agent: str = ""
    ) -> ToolReply:
        self.called.append((key, tool, arguments))
        self.changed.set()
        return self.tool(tool, arguments)

    async def read_file(self, claim: Claim, file_id: str, idx: int) -> FilePiece:
        raise file_not_found(file_id)

    async def release(self, claim: Claim) -> None:
        self.released.append(claim)
        self.changed.set()

    async def linked(self) -> None:
        return

    def out_of_touch(self) -> bool:
        return self.silent

    async def leave(self) -> None:
        self.left = True


def job(
    text: str = "hello",
    *,
    tools: Sequence[ToolOffer] = (),
    agent: Offer | None = None,
    given: RunAgentInput | None = None,
    history: Sequence[RunLog] = (),
    payload: bytes | None = None,
) -> Job:
    """Make the job of a run that has just been claimed."""
    asked = given or RunAgentInput("thr_1", "run_1", [UserMessage(id="msg_1", content=text)])
    started = RunStarted("thr_1", "run_1", PROTOCOL_VERSION, input=asked)
    started.timestamp = 4_000_000_000_000
    started.metadata = {"run": "run_1", "seq": 1}
    info = RunInfo(
        run_id="run_1",
        session_id="thr_1",
        agent="helper",
        model="scripted:one",
        status="running",
        epoch=1,
        last_seq=1,
        created_at=0,
        ended_at=None,
        mark="0123456789abcdef",
        tenant="default",
        user="local",
        first_pos=0,
    )
    log = RunLog(info, encode(started) + b"\n" if payload is None else payload)
    return Job(claim=CLAIM, agent=agent or offer(), tools=list(tools), log=log, history=list(history))


def offer(provider: str = "scripted", source: str = "stored", name: str = "helper") -> Offer:
    """Describe an agent."""
    return Offer(
        id="agt_1",
        name=name,
        source="code" if source == "code" else "stored",
        system_prompt="Be brief.",
        model_provider=provider,
        model_name="one",
    )


def gateway_tool(name: str = "lookup") -> ToolOffer:
    """Describe a tool of the gateway's with one parameter."""
    parameters: dict[str, Json] = {
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
    }
    return ToolOffer(name=name, description="Look it up.", parameters=parameters, kind="builtin")


async def worker(
    ledger: Ledger, *turns: ScriptedTurn, app: App | None = None
) -> tuple[WorkerService, ScriptedDriver]:
    """Make a worker whose model says these turns, and let it join."""
    driver = ScriptedDriver(turns)

    def open_driver(provider: str, endpoint: Endpoint) -> ScriptedDriver:
        return driver

    service = WorkerService("wrk_1", room=5, endpoints={}, app=app, open_driver=open_driver)
    await service.join(ledger)
    return service, driver


async def run(service: WorkerService, what: Job) -> None:
    """Let a worker run a job to its end."""
    service.start(what)
    await idle(service)


async def idle(service: WorkerService) -> None:
    """Wait until a worker has no job left."""
    async with asyncio.timeout(PATIENCE_S):
        await service.idle()
