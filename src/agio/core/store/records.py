"""What the store keeps and answers with: agents, sessions, messages, questions, runs that are accepted and claimed."""

from collections.abc import Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct, field

from agio.core.config import AgentLimits
from agio.core.http_tool import HttpTool
from agio.core.store.repository import Approval, Effect, InterruptState, RunInfo
from agio.protocol.messages import ContextEntry, Json, Message, ResumeEntry, ToolDeclaration

OnBusy: TypeAlias = Literal["queue", "refuse", "interrupt"]
"""What becomes of a message that comes while a run of its session is going on."""
SessionState: TypeAlias = Literal["idle", "queued", "running", "waiting"]
"""`waiting`: the last run ended with a question that is open."""
AgentSource: TypeAlias = Literal["stored", "code", "library", "inline"]
"""Where an agent is defined; `inline`: by whoever began the one session it has."""
AgentStatus: TypeAlias = Literal["active", "inactive"]
ApprovalPolicy: TypeAlias = Literal["tool", "ask"]
"""Whether a person is asked before a call: as each tool says, or always."""

T = TypeVar("T")


class ForkLimits(Struct, frozen=True):
    """How much of a session may be copied: events, and bytes of logs and files."""

    events: int = 500_000
    size_bytes: int = 512 * 1024 * 1024


class Page(Struct, Generic[T], frozen=True):
    """A part of a list. `next` is the cursor of the following page, None on the last."""

    items: list[T]
    next: str | None = None
    previous: str | None = None
    """The cursor of the page before, in a list that can be read from its end; None on the first."""


class AgentTool(Struct, frozen=True):
    """A tool an agent may use, by name; `approval` overrides the tool's own.

    The rest is the store's to say, of an HTTP tool.
    """

    name: str
    approval: Approval | None = None
    id: str = ""
    http: HttpTool | None = None
    """What the team said of it."""
    updated_at: int = 0
    """When it said so."""


class AgentDefinition(Struct, frozen=True, kw_only=True):
    """The columns of an agent that its team sets. Rows, views and offers are derived from these fields."""

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
    """What its final answer must be, as a JSON schema; None: text."""
    limits: AgentLimits | None = None


def definition_of(agent: AgentDefinition) -> dict[str, Any]:
    """Return the definition of an agent, by field."""
    return {name: getattr(agent, name) for name in AgentDefinition.__struct_fields__}


class AgentFields(AgentDefinition, frozen=True, kw_only=True):
    """An agent as its team describes it: the definition and the tools."""

    tools: list[AgentTool] = field(default_factory=list[AgentTool])


class AgentRecord(AgentFields, frozen=True, kw_only=True):
    """An agent as it is kept. One with source `code` or `library` is defined in Python and read-only."""

    id: str
    tenant: str
    source: AgentSource
    created_at: int
    updated_at: int


class FoundMessage(Struct, frozen=True, kw_only=True):
    """The newest message of a session that has what was searched: those words, and some before and after them."""

    message_id: str
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
    """The thread id an AG-UI client gave it."""
    pending: list[str]
    """Client-side tool calls the last run ended with, by call id: their results are expected."""
    created_at: int
    updated_at: int
    last_run_id: str | None
    """The newest run that has begun."""
    last_pos: int
    """The position of the session's last event."""
    seen_pos: int
    """The position up to which the user has read it."""
    forked_from: str | None
    """The session it was copied from; that one may have been deleted since."""
    found: FoundMessage | None = None
    """In an answer to a search: where it was said. None if only the title has it."""


class MessageRecord(Struct, frozen=True, kw_only=True):
    """A finished message of a session. `message` is AG-UI JSON; `pos` is None while its run is queued."""

    id: str
    run_id: str
    role: str
    message: bytes
    created_at: int
    pos: int | None


class InterruptRecord(Struct, frozen=True, kw_only=True):
    """A question to a person, with exactly what would be called."""

    id: str
    session_id: str
    run_id: str
    tool_call_id: str
    tool: str
    arguments: str
    """The call's arguments, as the model wrote them."""
    message: str
    state: InterruptState
    created_at: int
    expires_at: int


class ToolExecution(Struct, frozen=True, kw_only=True):
    """A tool call as it was recorded: begun before it acted, ended before it was answered."""

    run_id: str
    key: str
    tool: str
    effect: Effect
    state: Literal["started", "finished"]
    error: str | None
    started_at: int
    ended_at: int | None


class ClaimBy(Struct, frozen=True):
    """Who claims: the worker, and the hash of the token that goes with the claim."""

    worker: str
    token_hash: bytes


class Limits(Struct, frozen=True):
    """The limits the store itself keeps, in the commit that would break them."""

    running_per_user: int = 3
    """Sessions a person has runs in at once; runs that API keys started are counted apart."""
    running_per_key: int = 50
    running_per_tenant: int = 200
    queued_per_tenant: int = 1000
    queued_per_user: int = 100


class SessionStart(Struct, frozen=True, kw_only=True):
    """A session that begins with its first message."""

    agent_id: str
    alias: str | None = None
    """With an alias that the user has with this agent, the session there is."""
    title: str = ""
    """Empty: the beginning of the message."""
    on_busy: OnBusy = "queue"


class Submission(Struct, frozen=True, kw_only=True):
    """A message, or answers and results, to be taken into a session as a run. Ids are made by the caller."""

    session_id: str
    run_id: str
    start: SessionStart | None = None
    """Begin the session `session_id` in the same commit, unless the alias says that there is one."""
    messages: Sequence[Message] = ()
    """User messages, and results of client-side tools that are pending."""
    resume: Sequence[ResumeEntry] = ()
    tools: Sequence[ToolDeclaration] = ()
    context: Sequence[ContextEntry] = ()
    alias: str | None = None
    """The run id an AG-UI client gave it: the same alias in the same session is the same run."""
    idempotency_key: str | None = None
    digest: bytes = b""
    """The hash of what was sent, set by the intake: the same key with another digest is refused."""
    on_busy: OnBusy | None = None
    """Instead of the session's own."""
    claim: ClaimBy | None = None
    """Claim the run in the same commit if it could be claimed next."""
    code_agents: Sequence[str] = ()
    """With `claim`: the agents defined in code that the worker has, as in `claim_next`."""
    request_id: str = ""
    """The id of the request it came with."""
    key_id: str = ""
    """The API key of the request; empty for a person."""


class Claimed(Struct, frozen=True):
    """A run that was claimed: `info.epoch` is the claim's. RUN_STARTED is in its log.

    `must_end` is why it must be ended at once rather than run: its cancellation was asked for, it waited too
    long, three claims brought no finished turn, or what it was given cannot be read.
    """

    info: RunInfo
    agent: AgentRecord
    session_id: str
    must_end: Literal["cancelled", "expired", "crash_loop", "unreadable"] | None = None
    started: bytes = b""
    """RUN_STARTED's line, if this claim wrote it."""


class Accepted(Struct, frozen=True, kw_only=True):
    """What became of a message. `repeated`: it had been accepted before, nothing was done now."""

    session_id: str
    """Where it went: with `start`, maybe a session that was there."""
    run_id: str
    message_id: str | None
    repeated: bool = False
    claimed: Claimed | None = None
    to_cancel: list[RunInfo] = field(default_factory=list[RunInfo])
    """Running runs this message interrupts: their workers must be told."""


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
