"""The link between a gateway and a worker, as both know it: jobs and cancels down; appends and tool calls up.

`Link` is what a worker may ask of a gateway, `Worker` what a gateway may ask of a worker. In one process they
call each other; between processes the same calls travel over a WebSocket. Everything here can be encoded
as msgpack.
"""

from collections.abc import Awaitable
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from agio.core.config import Price
from agio.core.file import FilePiece
from agio.core.http_tool import HttpTool
from agio.core.model import Usage
from agio.core.provider import ModelEndpoint
from agio.core.store.records import AgentDefinition, AgentFields, AgentSource
from agio.core.store.repository import Append, Approval, Effect, RunLog, ToolRecord
from agio.core.tool import AnyTool
from agio.protocol.messages import Content, ContextEntry, Json

ToolKind: TypeAlias = Literal["builtin", "module", "http", "mcp"]
"""Where a tool comes from: agio, the worker's module, the team's HTTP tools, an MCP server (not implemented yet)."""
Place: TypeAlias = Literal["gateway", "worker"]


class Claim(Struct, frozen=True):
    """A worker's hold on a run: it goes with everything the worker asks, and dies with the next claim."""

    run_id: str
    epoch: int
    token: str


class ToolOffer(Struct, frozen=True, kw_only=True):
    """A tool an agent may use, as the worker needs to know it. `parameters` is its JSON schema."""

    name: str
    description: str
    parameters: dict[str, Json]
    kind: ToolKind
    effect: Effect = "once"
    approval: Approval = "never"
    timeout_s: float | None = None

    @property
    def place(self) -> Place:
        """Where it runs: only module tools run in the worker."""
        return "worker" if self.kind == "module" else "gateway"


def offer_tool(kind: ToolKind, name: str, tool: AnyTool | HttpTool) -> ToolOffer:
    """Describe a tool to workers."""
    return ToolOffer(
        name=name,
        description=tool.description,
        parameters=tool.parameters,
        kind=kind,
        effect=tool.effect,
        approval=tool.approval,
        timeout_s=tool.timeout_s,
    )


class AgentOffer(AgentDefinition, frozen=True, kw_only=True):
    """The agent of a job. One with source `code` is looked up by name in the worker's own module."""

    id: str
    source: AgentSource
    price: Price | None = None
    """What its model costs, where the gateway knows."""
    endpoint: ModelEndpoint | None = None
    """The tenant's own provider; None: the provider is one of the worker's."""


class Job(Struct, frozen=True, kw_only=True):
    """A claimed run with all that is needed to run it: no worker reads a store."""

    claim: Claim
    agent: AgentOffer
    tools: list[ToolOffer]
    log: RunLog
    """What the run has so far: RUN_STARTED at least."""
    history: list[RunLog] = field(default_factory=list[RunLog])
    """The session's runs before it, oldest first."""
    context: list[ContextEntry] = field(default_factory=list[ContextEntry])
    """What the gateway knows of the user, if the agent may: text that nobody vouches for."""

    @property
    def request_id(self) -> str:
        """The id of the request that began the run."""
        return self.log.info.request_id


class Answer(Struct, frozen=True):
    """What a gateway says to an append. `cancel`: the run's cancellation was asked for."""

    cancel: bool = False


class ToolReply(Struct, frozen=True):
    """What a tool of the gateway answered: for the model, with a stable code if it failed."""

    content: Content
    error: str | None = None


class Task(Struct, frozen=True, kw_only=True):
    """A short model job the gateway asks for: one turn without tools, or the list of the provider's models."""

    wants: Literal["turn", "models"] = "turn"
    provider: str
    model: str
    instructions: str
    prompt: str
    max_output_tokens: int | None = None
    timeout_s: float = 60.0
    endpoint: ModelEndpoint | None = None
    """As in `AgentOffer`."""
    again: bool = True
    """Whether to try again what may pass."""
    request_id: str = ""
    """The id of the request it is for."""


class TaskResult(Struct, frozen=True):
    """What the model said, or which models there are."""

    text: str
    usage: Usage
    models: list[str] = []


class Greeting(Struct, frozen=True, kw_only=True):
    """What a worker says of itself when it comes."""

    worker: str
    """Its own id, the same when it comes back."""
    room: int
    """How many runs it takes at once."""
    agents: list[AgentFields] = field(default_factory=list[AgentFields])
    """The agents its module defines."""
    tools: list[ToolOffer] = field(default_factory=list[ToolOffer])
    """The tools its module defines, which stored agents may use too."""
    claims: list[Claim] = field(default_factory=list[Claim])
    """What it still holds from before its link broke."""
    providers: list[str] = field(default_factory=list[str])
    """The model providers its environment has an address or a key for."""


class Welcome(Struct, frozen=True):
    """What the gateway answers: the claims it still honours, by run id; the others must be dropped."""

    claims: list[str]
    heartbeat_s: float
    silence_s: float
    """After so long without an answer a worker must stop its runs itself."""


class Link(Protocol):
    """A gateway as a worker sees it. Each call is checked against its claim.

    Raises StoreError `stale_epoch`, `run_not_found` or `run_ended` when the claim is no longer good: the worker
    drops the run without a word. Raises StoreError `store_full`, `store_failed` when
    the store fails, `link_lost` when the gateway cannot be reached any more.
    """

    async def greet(self, greeting: Greeting) -> Welcome:
        """Come, or come back."""
        ...

    def append(self, claim: Claim, write: Append) -> Awaitable[Answer]:
        """Make events durable. Repeating an append that was stored answers as the first did."""
        ...

    async def begin_tool(self, claim: Claim, key: str, tool: str, effect: Effect) -> ToolRecord | None:
        """Record that a tool of the worker's begins, when that did not travel with an append."""
        ...

    async def end_tool(self, claim: Claim, key: str, record: ToolRecord) -> None:
        """Record the result of a call that `begin_tool` recorded."""
        ...

    async def call_tool(self, claim: Claim, key: str, tool: str, arguments: dict[str, Json]) -> ToolReply:
        """Run a tool of the gateway's. Raises ToolError when the gateway refuses, which ends the run."""
        ...

    async def read_file(self, claim: Claim, file_id: str, idx: int) -> FilePiece:
        """Read a piece of a file of the run's session. Raises UserError `file_not_found`."""
        ...

    async def release(self, claim: Claim) -> None:
        """Give a run back unfinished: somebody else goes on with it at once."""
        ...

    async def leave(self) -> None:
        """Say goodbye: no more jobs."""
        ...

    async def linked(self) -> None:
        """Wait until the gateway can be reached: a worker whose link is being mended begins no tool."""
        ...

    def out_of_touch(self) -> bool:
        """Whether the gateway may have given this worker up without its knowing: no tool may begin to act."""
        ...


class Worker(Protocol):
    """A worker as a gateway sees it."""

    def start(self, job: Job) -> None:
        """Run a job."""
        ...

    def cancel(self, run_id: str, epoch: int) -> None:
        """Cancel a run it has."""
        ...

    def drop(self, run_id: str, epoch: int) -> None:
        """Let go of a run without writing: somebody else has it, or it was deleted."""
        ...

    def drain(self, within_s: float) -> None:
        """Finish the turns under way within this time, and give back the runs that are not finished then."""
        ...

    async def perform(self, task: Task) -> TaskResult:
        """Do a short model job. Raises ModelError, UserError."""
        ...
