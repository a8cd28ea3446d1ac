"""The store's records: agents, sessions, messages, questions, submitted and claimed runs."""

from collections.abc import Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field

from agio.core.config import AgentLimits
from agio.core.handoff import Handoff
from agio.core.http_tool import HttpTool
from agio.core.log_level import KNOWN
from agio.core.mcp import McpTool
from agio.core.store.repository import Approval, Effect, InterruptState, RunInfo
from agio.core.tool import InputQuestion
from agio.protocol.messages import ContextEntry, Json, Message, ResumeEntry, ToolDeclaration

OnBusy: TypeAlias = Literal["queue", "refuse", "interrupt", "steer"]
"""How a message is treated that arrives while its session has a running run. `steer`: that run takes it."""
SessionState: TypeAlias = Literal["idle", "queued", "running", "waiting"]
"""A session's state. `waiting`: the last run ended with a question that is still open."""
AgentSource: TypeAlias = Literal["stored", "code", "library", "inline"]
"""Where an agent is defined. `inline`: by the client that started its only session."""
AgentStatus: TypeAlias = Literal["active", "inactive"]
ApprovalPolicy: TypeAlias = Literal["tool", "ask"]
"""When a person must approve a call: as each tool defines it, or always."""
MemoryPolicy: TypeAlias = Literal["off", "suggest", "automatic"]
"""Whether an agent remembers: not at all, what a person approves, or what a model finds worth it."""

T = TypeVar("T")


class ForkLimits(Struct, frozen=True):
    """The limits of a session's copy: events, and bytes of logs and files."""

    events: int = 500_000
    size_bytes: int = 512 * 1024 * 1024


class Page(Struct, Generic[T], frozen=True):
    """A page of a list. `next` is the cursor of the following page, None on the last."""

    items: list[T]
    next: str | None = None
    previous: str | None = None
    """The cursor of the preceding page, in a list that can be read from its end; None on the first."""


class AgentTool(Struct, frozen=True):
    """A tool of an agent, by name. `approval` overrides the tool's own.

    The store fills in the other fields for an HTTP tool, and for one of an MCP server.
    """

    name: str
    approval: Approval | None = None
    id: str = ""
    http: HttpTool | None = None
    """The tool's definition."""
    updated_at: int = 0
    """When the definition last changed."""
    mcp: McpTool | None = None
    """The definition of an MCP server's tool."""

    @property
    def definition(self) -> HttpTool | McpTool | None:
        """What the team defined; None: a built-in tool, or one of a worker's module."""
        return self.http or self.mcp


class AgentDefinition(Struct, frozen=True, kw_only=True):
    """The fields of an agent that its team sets. Rows, views and offers are derived from them."""

    name: str
    system_prompt: str
    model_provider: str
    model_name: str
    description: str = ""
    goal: str | None = None
    temperature: float | None = None
    max_steps: int | None = None
    status: AgentStatus = "active"
    approval: ApprovalPolicy = "tool"
    output_schema: dict[str, Json] | None = None
    """The JSON schema of its final answer; None: text."""
    limits: AgentLimits | None = None
    handoffs: list[Handoff] = field(default_factory=list[Handoff])
    """The agents that it may hand over to, or call."""
    memory: MemoryPolicy = "suggest"
    search_conversations: bool = False
    """Whether it can search the user's other conversations with agents."""
    collections: list[str] = field(default_factory=list[str])
    """The ids of the collections whose documents it knows."""


def definition_of(agent: AgentDefinition) -> dict[str, Any]:
    """Return the definition of an agent, by field."""
    return {name: getattr(agent, name) for name in AgentDefinition.__struct_fields__}


class AgentFields(AgentDefinition, frozen=True, kw_only=True):
    """An agent as its team describes it: the definition and the tools."""

    tools: list[AgentTool] = field(default_factory=list[AgentTool])


class AgentRecord(AgentFields, frozen=True, kw_only=True):
    """An agent in the store. One with source `code` or `library` is defined in Python and read-only."""

    id: str
    tenant: str
    source: AgentSource
    created_at: int
    updated_at: int
    team: list["AgentRecord"] = field(default_factory=list["AgentRecord"])
    """The agents that handoffs can lead to, for a run: filled in the definition that it pins."""


class FoundMessage(Struct, frozen=True, kw_only=True):
    """The newest message of a session that matches a search: the match and the text around it."""

    message_id: str
    run_id: str
    before: str
    match: str
    after: str


class SessionRecord(Struct, frozen=True, kw_only=True):
    """A user's conversation with an agent."""

    id: str
    tenant: str
    user: str
    agent_id: str
    agent_name: str
    title: str
    on_busy: OnBusy
    state: SessionState
    alias: str | None
    """The thread id that an AG-UI client assigned."""
    pending: list[str]
    """The ids of client-side tool calls that the last run ended with and whose results are expected."""
    created_at: int
    updated_at: int
    last_run_id: str | None
    """The newest run that has started."""
    last_pos: int
    """The position of the session's last event."""
    seen_pos: int
    """The position up to which the user has read the session."""
    forked_from: str | None
    """The session it was copied from, which may have been deleted since."""
    leaf_run_id: str | None = None
    """The run that the next message continues: the newest, unless the user chose another branch."""
    branched: bool = False
    """Whether its runs are not one line that ends with the leaf."""
    active_agent: str | None = None
    """The name of the agent to which it was handed over; None: its own."""
    found: FoundMessage | None = None
    """The match in a search result; None if only the title matches."""


class Alternative(Struct, frozen=True):
    """One of several runs that continue the same run. `leaf_run_id` is the newest run of its branch."""

    run_id: str
    leaf_run_id: str


class Branch(Struct, frozen=True):
    """A run of a path that has alternatives; it is one of them. They are in the order of time."""

    run_id: str
    alternatives: list[Alternative]


class MessageRecord(Struct, frozen=True, kw_only=True):
    """A finished message of a session. `message` is AG-UI JSON; `pos` is None while its run is queued."""

    id: str
    run_id: str
    role: str
    message: bytes
    created_at: int
    pos: int | None


class InterruptRecord(Struct, frozen=True, kw_only=True):
    """A question to a person about a tool call, with the exact arguments."""

    id: str
    session_id: str
    run_id: str
    tool_call_id: str
    tool: str
    arguments: str
    """The call's arguments as the model wrote them."""
    message: str
    state: InterruptState
    created_at: int
    expires_at: int
    input: str | None = None
    """What the call's tool asks, as JSON of an `InputQuestion`; None: whether the call may run."""

    @property
    def question(self) -> InputQuestion | None:
        """What the call's tool asks; None: whether the call may run."""
        return None if self.input is None else msgspec.json.decode(self.input, type=InputQuestion)


class ToolExecution(Struct, frozen=True, kw_only=True):
    """The record of a tool call. Its start is committed before it acts, its end before its result is returned."""

    run_id: str
    key: str
    tool: str
    effect: Effect
    state: Literal["started", "finished"]
    error: str | None
    started_at: int
    ended_at: int | None


class ClaimBy(Struct, frozen=True):
    """The claimant: the worker, the hash of the claim's token, and the newest log level that the worker knows."""

    worker: str
    token_hash: bytes
    log_level: int = KNOWN


class Limits(Struct, frozen=True):
    """The limits that the store enforces in its transactions."""

    running_per_user: int = 3
    """The number of sessions in which a person may have running runs. Runs of API keys are counted separately."""
    running_per_key: int = 50
    running_per_tenant: int = 200
    queued_per_tenant: int = 1000
    queued_per_user: int = 100


class SessionStart(Struct, frozen=True, kw_only=True):
    """A session to create with its first message."""

    agent_id: str
    alias: str | None = None
    """If the user has a session with this agent and alias, that session is used."""
    title: str = ""
    """The title; empty: the beginning of the message."""
    on_busy: OnBusy = "queue"


class Submission(Struct, frozen=True, kw_only=True):
    """Messages, answers or tool results to add to a session as a run. The caller makes the ids."""

    session_id: str
    run_id: str
    start: SessionStart | None = None
    """Create the session `session_id` in the same commit, unless its alias already exists."""
    messages: Sequence[Message] = ()
    """User messages, and results of pending client-side tool calls."""
    resume: Sequence[ResumeEntry] = ()
    tools: Sequence[ToolDeclaration] = ()
    context: Sequence[ContextEntry] = ()
    parent_run_id: str | None = None
    """The run to continue; empty: none, which begins the conversation anew. None: the session's leaf."""
    copy_of: str | None = None
    """The user message that the message replaces. Without a parent, the run continues that message's parent."""
    definition: AgentFields | None = None
    """What to run instead of the session's agent as it is, this time only."""
    alias: str | None = None
    """The run id that an AG-UI client assigned. An alias names one run in its session."""
    idempotency_key: str | None = None
    digest: bytes = b""
    """The hash of the request, set by the intake. The same key with another digest is refused."""
    on_busy: OnBusy | None = None
    """Overrides the session's setting."""
    claim: ClaimBy | None = None
    """Claim the run in the same commit if it is next in the queue."""
    code_agents: Sequence[str] = ()
    """With `claim`: the names of the worker's agents defined in code, as in `claim_next`."""
    request_id: str = ""
    """The id of the request that brought it."""
    key_id: str = ""
    """The API key of the request; empty for a person."""


class Claimed(Struct, frozen=True):
    """A claimed run: `info.epoch` is the claim's epoch. RUN_STARTED is in its log.

    `must_end` is why the run must be ended instead of run: it was cancelled, it waited too long in the queue, three
    claims finished no turn, or its input cannot be read.
    """

    info: RunInfo
    agent: AgentRecord
    session_id: str
    must_end: Literal["cancelled", "expired", "crash_loop", "unreadable"] | None = None
    started: bytes = b""
    """The RUN_STARTED line, if this claim wrote it."""


class Accepted(Struct, frozen=True, kw_only=True):
    """The result of a submission. `repeated`: it had been accepted before and changed nothing now."""

    session_id: str
    """The session of the run: with `start`, possibly one that existed."""
    run_id: str
    message_id: str | None
    repeated: bool = False
    claimed: Claimed | None = None
    steered: bool = False
    """Whether a running run takes the message, at its next turn. The gateway must tell its worker."""
    to_cancel: list[RunInfo] = field(default_factory=list[RunInfo])
    """Running runs that this message interrupts. The gateway must cancel them at their workers."""


class EventSlice(Struct, frozen=True):
    """Consecutive events of one run in a session's stream: the first has position `first_pos`."""

    run_id: str
    first_pos: int
    count: int
    payload: bytes

    @property
    def last_pos(self) -> int:
        """The position of the last event."""
        return self.first_pos + self.count - 1
