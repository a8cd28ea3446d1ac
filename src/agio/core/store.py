"""The server's store port: everything `AgentRunRepository` keeps, and who may see it, agents, sessions, the queue.

Implemented in db/ on SQLite and on Postgres. Every method that serves a person or a program takes the tenant
of its credential first, and finds nothing of any other: a foreign id is a UserError `..._not_found`.
"""

from collections.abc import Sequence
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field

from agio.core.repository import AgentRunRepository, Approval, Effect, RunInfo, RunLog
from agio.protocol.messages import ContextEntry, Message, ResumeEntry, ToolDeclaration

DEFAULT_TENANT = "default"
"""The tenant every store begins with; the library's runs are its user `local`'s."""
LOCAL_USER = "local"

Role: TypeAlias = Literal["owner", "admin", "member"]
OnBusy: TypeAlias = Literal["queue", "refuse", "interrupt"]
"""What becomes of a message that comes while a run of its session is going on."""
SessionState: TypeAlias = Literal["idle", "queued", "running", "waiting"]
"""`waiting`: the last run ended with a question that is open."""
AgentSource: TypeAlias = Literal["stored", "code", "library"]
AgentStatus: TypeAlias = Literal["active", "inactive"]
ApprovalPolicy: TypeAlias = Literal["tool", "ask"]
"""Whether a person is asked before a call: as each tool says, or always."""
InterruptState: TypeAlias = Literal["open", "resolved", "cancelled", "expired"]

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True):
    """A part of a list. `next` is the cursor of the following page, None on the last."""

    items: list[T]
    next: str | None = None


class Principal(Struct, frozen=True):
    """Who a credential stands for."""

    tenant: str
    user: str
    role: Role
    credential: str
    """The id of the API key or web session."""


class TenantRecord(Struct, frozen=True):
    """A team."""

    id: str
    name: str
    retention_days: int | None
    """How long a session is kept that nobody changes; None: for ever."""


class ApiKey(Struct, frozen=True):
    """An API key as it is listed; the key itself is shown once, when it is made, and stored as a hash."""

    id: str
    tenant: str
    user: str
    name: str
    prefix: str
    """The first characters, for people to tell keys apart."""
    created_at: int
    last_used_at: int | None = None
    revoked_at: int | None = None


class AgentTool(Struct, frozen=True):
    """A tool an agent may use, by name; `approval` overrides the tool's own."""

    name: str
    approval: Approval | None = None


class AgentFields(Struct, frozen=True, kw_only=True):
    """What a team says of an agent."""

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
    tools: list[AgentTool] = field(default_factory=list[AgentTool])


class AgentRecord(AgentFields, frozen=True, kw_only=True):
    """An agent as it is kept. One with source `code` or `library` is defined in Python and read-only."""

    id: str
    tenant: str
    source: AgentSource
    created_at: int
    updated_at: int


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
    running_per_tenant: int = 20
    queued_per_tenant: int = 1000


class SessionStart(Struct, frozen=True, kw_only=True):
    """A session that begins with its first message."""

    agent_id: str
    alias: str | None = None
    """With an alias that the user has with this agent, the session there is."""
    title: str = ""
    """Empty: the beginning of the message."""
    on_busy: OnBusy = "queue"


class Acceptance(Struct, frozen=True, kw_only=True):
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
    """What was sent, hashed: the same key with another digest is refused."""
    on_busy: OnBusy | None = None
    """Instead of the session's own."""
    claim: ClaimBy | None = None
    """Claim the run in the same commit if it could be claimed next."""
    code_agents: Sequence[str] = ()
    """With `claim`: the agents defined in code that the worker has, as in `claim_next`."""


class Claimed(Struct, frozen=True):
    """A run that was claimed: `info.epoch` is the claim's. RUN_STARTED is in its log.

    `doomed` is why it must be ended at once rather than run: its cancellation was asked for, it waited too
    long, or three claims brought no finished turn.
    """

    info: RunInfo
    agent: AgentRecord
    session_id: str
    doomed: Literal["cancelled", "expired", "crash_loop"] | None = None
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


class Chunk(Struct, frozen=True):
    """Consecutive events of one run in a session's stream: the first has position `first_pos`."""

    run_id: str
    first_pos: int
    count: int
    payload: bytes

    @property
    def last_pos(self) -> int:
        """The position of the last event."""
        return self.first_pos + self.count - 1


class Store(AgentRunRepository, Protocol):
    """Everything the gateway keeps. Raises StoreError when the store fails, UserError as said."""

    # Identity

    async def add_tenant(self, tenant: str, name: str) -> None:
        """Add a tenant unless its id is there."""
        ...

    async def get_tenant(self, tenant: str) -> TenantRecord:
        """Raises UserError `tenant_not_found`."""
        ...

    async def set_retention(self, tenant: str, days: int | None) -> TenantRecord:
        """Say for how many days a tenant keeps sessions; None: for ever. Raises UserError `tenant_not_found`."""
        ...

    async def add_user(self, tenant: str, user: str, name: str, role: Role) -> None:
        """Add a user unless its id is there."""
        ...

    async def get_user(self, tenant: str, user: str) -> tuple[str, Role]:
        """A user's name and role. Raises UserError `user_not_found`."""
        ...

    async def add_api_key(self, key: ApiKey, key_hash: bytes, *, only_first: bool = False) -> bool:
        """Keep a key; with `only_first` only if there is none at all. Returns whether it was kept."""
        ...

    async def list_api_keys(self, tenant: str, user: str) -> list[ApiKey]:
        """A user's keys, newest first, revoked ones too."""
        ...

    async def revoke_api_key(self, tenant: str, user: str, key_id: str) -> None:
        """End a key. Raises UserError `key_not_found`."""
        ...

    async def find_api_key(self, key_hash: bytes) -> Principal | None:
        """Who a key stands for; None if there is none or it was revoked. Notes its use, at most once a minute."""
        ...

    async def add_web_session(
        self, tenant: str, user: str, session: str, token_hash: bytes, expires_at: int
    ) -> None:
        """Keep a browser's session."""
        ...

    async def find_web_session(self, token_hash: bytes) -> Principal | None:
        """Who a browser's session stands for; None if it is over."""
        ...

    async def end_web_session(self, token_hash: bytes) -> None:
        """End a browser's session."""
        ...

    # Agents

    async def list_agents(
        self, tenant: str, *, search: str | None = None, after: str | None = None, limit: int = 50
    ) -> Page[AgentRecord]:
        """A tenant's agents by name. `search` is a part of the name or description. UserError `invalid_cursor`."""
        ...

    async def get_agent(self, tenant: str, agent_id: str) -> AgentRecord:
        """Raises UserError `agent_not_found`."""
        ...

    async def create_agent(self, tenant: str, fields: AgentFields) -> AgentRecord:
        """Add an agent. Raises UserError `agent_exists` if the name is taken in the tenant."""
        ...

    async def update_agent(self, tenant: str, agent_id: str, fields: AgentFields) -> AgentRecord:
        """Replace what is said of an agent. Raises UserError `agent_not_found`, `agent_exists`, `agent_read_only`."""
        ...

    async def delete_agent(self, tenant: str, agent_id: str) -> None:
        """Remove an agent; its sessions stay readable. Raises UserError `agent_not_found`, `agent_read_only`."""
        ...

    async def put_code_agents(self, tenant: str, agents: Sequence[AgentFields]) -> list[AgentRecord]:
        """Make the agents with source `code` be these, by name; others of that source become inactive.

        Raises UserError `agent_exists` if a stored agent has one of the names.
        """
        ...

    # Sessions

    async def list_sessions(
        self,
        tenant: str,
        user: str,
        *,
        agent_id: str | None = None,
        search: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[SessionRecord]:
        """A user's sessions, those changed last first. Raises UserError `invalid_cursor`."""
        ...

    async def start_session(
        self,
        tenant: str,
        user: str,
        agent_id: str,
        *,
        title: str = "",
        on_busy: OnBusy = "queue",
        alias: str | None = None,
    ) -> SessionRecord:
        """Add a session; with an alias that the user has with this agent, the one there is.

        Raises UserError `agent_not_found`, `agent_inactive`, `session_deleted` (the alias's session was).
        """
        ...

    async def get_session(self, tenant: str, user: str, session_id: str) -> SessionRecord:
        """Raises UserError `session_not_found`."""
        ...

    async def update_session(
        self,
        tenant: str,
        user: str,
        session_id: str,
        *,
        title: str | None = None,
        on_busy: OnBusy | None = None,
    ) -> SessionRecord:
        """Change what is given. Raises UserError `session_not_found`."""
        ...

    async def delete_session(self, tenant: str, user: str, session_id: str) -> list[RunInfo]:
        """Remove a session and everything in it; hashes of its idempotency keys and aliases stay 7 days.

        Returns the runs that were running: whoever has them must let go. Raises UserError `session_not_found`.
        """
        ...

    async def list_messages(
        self, tenant: str, user: str, session_id: str, *, after: str | None = None, limit: int = 200
    ) -> Page[MessageRecord]:
        """A session's finished messages in the order of the conversation, those of queued runs last."""
        ...

    async def find_messages(
        self, tenant: str, user: str, session_id: str, ids: Sequence[str]
    ) -> list[MessageRecord]:
        """Those of a session's messages that have one of these ids, also of queued runs: what was taken before."""
        ...

    async def list_interrupts(self, tenant: str, user: str, session_id: str) -> list[InterruptRecord]:
        """A session's questions, newest first, answered ones too. Raises UserError `session_not_found`."""
        ...

    # The road

    async def accept(self, tenant: str, user: str, given: Acceptance, limits: Limits) -> Accepted:
        """Take a message into its session: message, run and answers in one commit.

        Open questions are answered by `resume`, all of them at once, or cancelled by a user message. Raises
        UserError `session_not_found`, `agent_inactive`, `session_busy`, `idempotency_conflict`,
        `unknown_interrupt`, `interrupt_closed`, `incomplete_answer`, `unknown_tool_call`, and LimitExceeded
        `too_many_sessions`, `queue_full`; with `start` also what `start_session` raises.
        """
        ...

    async def claim_next(
        self,
        by: ClaimBy,
        limits: Limits,
        *,
        code_agents: Sequence[str] = (),
        after_tenant: str = "",
        queued_before: int = 0,
        doomed_only: bool = False,
    ) -> Claimed | None:
        """Claim the next run that may run: tenants in turn from the one after `after_tenant`, oldest first.

        A session has one running run, and an open question holds its queue; answers go before messages. Runs
        of agents defined in code are taken only if `code_agents` has the agent's name. Runs queued before
        `queued_before` (ms) come back doomed, `expired`. With `doomed_only`, runs that must be ended and no others.
        """
        ...

    async def reclaim(
        self, run_id: str, epoch: int, by: ClaimBy, *, given_back: bool = False
    ) -> Claimed | None:
        """Take over a running run that has this epoch: epoch + 1. None if it has ended or was taken over.

        A claim that was `given_back` is not one of the three that bring no finished turn.
        """
        ...

    async def give_back(self, run_id: str, epoch: int) -> None:
        """Note that a run was given back in good order: whoever claims it next need not fear a crash loop."""
        ...

    async def running_runs(self) -> list[RunInfo]:
        """Every running run of every tenant, oldest first, with its worker: for taking over after a start."""
        ...

    async def count_runs(self) -> dict[str, int]:
        """How many runs are queued and running, over all tenants."""
        ...

    async def request_cancel(
        self, tenant: str, user: str, *, session_id: str | None = None, run_id: str | None = None
    ) -> list[RunInfo]:
        """Flag a run, or all queued and running runs of a session, to be cancelled; returns those flagged.

        A run that has ended is left as it is. Raises UserError `run_not_found`, `session_not_found`.
        """
        ...

    async def expire_interrupts(self) -> int:
        """Close the questions whose time is over; returns how many."""
        ...

    async def sweep(self) -> None:
        """Forget idempotency keys after 7 days, and web sessions that are over."""
        ...

    async def delete_old_sessions(self, limit: int = 50) -> list[str]:
        """Delete sessions that nobody changed for as long as their tenant keeps them; returns their ids.

        As `delete_session` does, at most `limit` at once, and none in which a run is queued or running.
        """
        ...

    async def history(self, session_id: str, before_pos: int, enough: int) -> list[RunLog]:
        """The logs of the session's runs that began before `before_pos`, oldest first: the newest ones that
        have `enough` messages together. For the worker's claim; the caller has checked the tenant."""
        ...

    # Reading the log

    async def find_run(self, tenant: str, user: str, run_id: str) -> RunInfo:
        """Raises UserError `run_not_found`."""
        ...

    async def find_alias(self, tenant: str, user: str, session_id: str, alias: str) -> RunInfo | None:
        """The run an AG-UI client began with this run id."""
        ...

    async def find_runs(
        self,
        tenant: str,
        user: str,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        status: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[RunInfo]:
        """A user's runs, newest first. Raises UserError `invalid_cursor`."""
        ...

    async def read_session(self, session_id: str, after: int, limit_bytes: int) -> list[Chunk]:
        """The session's events after position `after`, oldest first, at least one event if there is one and
        then about `limit_bytes`. The caller has checked the tenant."""
        ...

    async def read_run(self, run_id: str, after: int, limit_bytes: int) -> Chunk:
        """A run's events after seq `after`; `first_pos` is the session's. The caller has checked the tenant."""
        ...

    async def list_tool_executions(self, tenant: str, user: str, run_id: str) -> list[ToolExecution]:
        """What tools a run called. Raises UserError `run_not_found`."""
        ...

    async def check(self) -> None:
        """Raise StoreError if the store cannot be read or written now."""
        ...
