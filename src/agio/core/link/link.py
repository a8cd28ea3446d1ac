"""The link between a gateway and a worker. Jobs and cancels go down; appends and tool calls go up.

A worker calls the gateway's `Link`; a gateway calls the `Worker`. In one process these are direct calls. Between
processes the same calls travel over a WebSocket. Every record here can be encoded as msgpack.
"""

from collections.abc import Awaitable
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from agio.core.config import Price
from agio.core.document import DocumentPassage
from agio.core.file import FilePiece
from agio.core.http_tool import HttpTool
from agio.core.log_level import PLAIN
from agio.core.mcp import McpTool
from agio.core.model import Usage
from agio.core.passage import Recollection
from agio.core.provider import ModelEndpoint
from agio.core.store.records import AgentDefinition, AgentFields, AgentSource
from agio.core.store.repository import Append, Approval, Effect, RunInput, RunLog, ToolRecord
from agio.core.tool import AnyTool, InputQuestion
from agio.protocol.messages import Content, ContextEntry, Json

ToolKind: TypeAlias = Literal["builtin", "module", "http", "mcp"]
"""The origin of a tool: agio, the worker's module, the team's HTTP tools, an MCP server."""
Place: TypeAlias = Literal["gateway", "worker"]


class Claim(Struct, frozen=True):
    """A worker's claim on a run. Every call about the run carries it; the next claim invalidates it."""

    run_id: str
    epoch: int
    token: str


class ToolOffer(Struct, frozen=True, kw_only=True):
    """A tool of an agent, as described to the worker. `parameters` is its JSON schema."""

    name: str
    description: str
    parameters: dict[str, Json]
    kind: ToolKind
    effect: Effect = "once"
    approval: Approval = "never"
    timeout_s: float | None = None

    @property
    def place(self) -> Place:
        """The process that runs the tool: only module tools run in the worker."""
        return "worker" if self.kind == "module" else "gateway"


def offer_tool(kind: ToolKind, name: str, tool: AnyTool | HttpTool | McpTool) -> ToolOffer:
    """Return the description of a tool for workers."""
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
    """The agent of a job. The worker looks up an agent with source `code` by name in its own module."""

    id: str
    source: AgentSource
    price: Price | None = None
    """The model's price, if the gateway has one."""
    endpoint: ModelEndpoint | None = None
    """The tenant's own provider; None: the worker's provider of that name."""


class JobAgent(Struct, frozen=True):
    """Another agent that a run may use: one that is called like a tool, or to which it may be handed over."""

    agent: AgentOffer
    tools: list[ToolOffer]
    memories: list[Recollection] = field(default_factory=list[Recollection])
    """What it remembers that fits the run's message, best first."""
    documents: list[DocumentPassage] = field(default_factory=list[DocumentPassage])
    """The passages of its documents that it begins with."""


class Job(Struct, frozen=True, kw_only=True):
    """A claimed run with everything needed to run it. Workers do not read the store."""

    claim: Claim
    agent: AgentOffer
    tools: list[ToolOffer]
    log: RunLog
    """The run's log so far, RUN_STARTED at least."""
    history: list[RunLog] = field(default_factory=list[RunLog])
    """The session's earlier runs, oldest first."""
    context: list[ContextEntry] = field(default_factory=list[ContextEntry])
    """What the gateway knows about the user, if the agent may use it. The text is untrusted."""
    team: list[JobAgent] = field(default_factory=list[JobAgent])
    memories: list[Recollection] = field(default_factory=list[Recollection])
    """What the run's agent remembers that fits the message, best first."""
    documents: list[DocumentPassage] = field(default_factory=list[DocumentPassage])
    """The passages of its documents that the run's agent begins with."""
    suggested: list[str] = field(default_factory=list[str])
    """The ids of memories that were suggested in the session and not announced yet."""

    @property
    def request_id(self) -> str:
        """The id of the request that started the run."""
        return self.log.info.request_id


class Answer(Struct, frozen=True):
    """The gateway's reply to an append. `cancel`: the run must be cancelled."""

    cancel: bool = False


class ToolReply(Struct, frozen=True):
    """The result of a tool that ran in the gateway, for the model. `error` is a stable code if the call failed."""

    content: Content
    error: str | None = None
    asks: list[InputQuestion] = []
    """Questions instead of a result: the call waits for a person's answers."""


class Task(Struct, frozen=True, kw_only=True):
    """A short model job for the gateway: one turn without tools, the provider's models, or vectors of texts."""

    wants: Literal["turn", "models", "embeddings"] = "turn"
    provider: str
    model: str
    instructions: str
    prompt: str
    max_output_tokens: int | None = None
    timeout_s: float = 60.0
    endpoint: ModelEndpoint | None = None
    """The tenant's own provider, as in `AgentOffer`."""
    again: bool = True
    """Whether to retry transient failures."""
    request_id: str = ""
    """The id of the request it belongs to."""
    texts: list[str] = []
    """With `embeddings`: what to make vectors of."""
    size: int | None = None
    """With `embeddings`: how many numbers a vector has; None: as the model."""


class TaskResult(Struct, frozen=True):
    """The result of a task: the model's text, or the names of the models."""

    text: str
    usage: Usage
    models: list[str] = []
    vectors: list[list[float]] = []


class Greeting(Struct, frozen=True, kw_only=True):
    """A worker's introduction when it connects."""

    worker: str
    """The worker's id, which stays the same when it reconnects."""
    room: int
    """The number of runs it can run concurrently."""
    agents: list[AgentFields] = field(default_factory=list[AgentFields])
    """The agents its module defines."""
    tools: list[ToolOffer] = field(default_factory=list[ToolOffer])
    """The tools its module defines. Stored agents may use them too."""
    claims: list[Claim] = field(default_factory=list[Claim])
    """The claims it still holds from before its link broke."""
    log_level: int = PLAIN
    """The newest log level that it knows: see `core.log_level`."""
    providers: list[str] = field(default_factory=list[str])
    """The model providers for which its environment has an address or a key."""


class Welcome(Struct, frozen=True):
    """The gateway's reply to a greeting: the run ids whose claims are still valid. The worker must drop all others."""

    claims: list[str]
    heartbeat_s: float
    silence_s: float
    """How long a worker may go without an answer before it must stop its runs."""


class Link(Protocol):
    """A gateway as a worker sees it. The gateway checks each call against its claim.

    Raises StoreError `stale_epoch`, `run_not_found` or `run_ended` when the claim is no longer valid: the worker then
    drops the run without writing. Raises StoreError `store_full`, `store_failed` when the store fails, `link_lost`
    when the gateway is unreachable.
    """

    async def greet(self, greeting: Greeting) -> Welcome:
        """Connect, or reconnect."""
        ...

    def append(self, claim: Claim, write: Append) -> Awaitable[Answer]:
        """Make events durable. Repeating a stored append returns the same answer."""
        ...

    async def begin_tool(
        self, claim: Claim, key: str, tool: str, effect: Effect, lane: str = ""
    ) -> ToolRecord | None:
        """Record the start of a worker's tool that was not recorded with an append."""
        ...

    async def end_tool(self, claim: Claim, key: str, record: ToolRecord) -> None:
        """Record the result of a call that `begin_tool` recorded."""
        ...

    async def call_tool(
        self, claim: Claim, key: str, tool: str, arguments: dict[str, Json], lane: str = "", agent: str = ""
    ) -> ToolReply:
        """Run a tool in the gateway, for an agent of the run in a lane; empty: the run's own.

        Raises ToolError when the gateway refuses, which ends the run.
        """
        ...

    async def read_file(self, claim: Claim, file_id: str, idx: int) -> FilePiece:
        """Read a chunk of a file of the run's session. Raises UserError `file_not_found`."""
        ...

    async def release(self, claim: Claim) -> None:
        """Give back an unfinished run, so that another worker can continue it at once."""
        ...

    async def leave(self) -> None:
        """Disconnect: the worker gets no more jobs."""
        ...

    async def linked(self) -> None:
        """Wait until the gateway is reachable. A worker starts no tool while its link is being restored."""
        ...

    def out_of_touch(self) -> bool:
        """Whether the gateway may have given up this worker without its knowledge. If so, no tool may start."""
        ...


class Worker(Protocol):
    """A worker as a gateway sees it."""

    def start(self, job: Job) -> None:
        """Start a job."""
        ...

    def cancel(self, run_id: str, epoch: int) -> None:
        """Cancel one of the worker's runs."""
        ...

    def give(self, run_id: str, epoch: int, inputs: list[RunInput]) -> None:
        """Give a run messages of the user that arrived after it began. Repeats change nothing."""
        ...

    def drop(self, run_id: str, epoch: int) -> None:
        """Stop a run without writing: another worker has it, or it was deleted."""
        ...

    def drain(self, within_s: float) -> None:
        """Finish the turns in progress within this time, then give back the unfinished runs."""
        ...

    def report(self, run_id: str, epoch: int, key: str, progress: Json) -> None:
        """Take the progress of a call that runs at the gateway. A worker that lags may leave it out."""
        ...

    async def perform(self, task: Task) -> TaskResult:
        """Run a short model job. Raises ModelError, UserError."""
        ...
