"""What the REST routes answer with, as clients see it. Times are milliseconds since 1970."""

from typing import Literal

from msgspec import Raw, Struct

from agio.core.identity.principal import Permission
from agio.core.link.link import Place
from agio.core.store.records import AgentDefinition, AgentSource, OnBusy, SessionState
from agio.core.store.repository import Approval, Effect, InterruptState, RunStatus
from agio.protocol.messages import Json


class AgentToolView(Struct, frozen=True):
    """A tool an agent may use; `approval` overrides the tool's own."""

    name: str
    approval: Approval | None


class AgentView(AgentDefinition, frozen=True, kw_only=True):
    """An agent. One that is defined in Python is read-only."""

    id: str
    tools: list[AgentToolView]
    source: AgentSource
    read_only: bool
    created_at: int
    updated_at: int


class SessionView(Struct, frozen=True, kw_only=True):
    """A conversation of the caller's with an agent."""

    id: str
    agent_id: str
    agent_name: str
    title: str
    on_busy: OnBusy
    state: SessionState
    pending: list[str]
    """Client-side tool calls whose results are expected, by call id."""
    created_at: int
    updated_at: int
    last_run_id: str | None
    last_pos: int
    seen_pos: int
    """The position up to which the caller has read it: below `last_pos` there is something new."""
    forked_from: str | None
    """The session it was copied from, which may have been deleted since."""


class FoundView(Struct, frozen=True, kw_only=True):
    """Where a search was found: about 120 characters of the message on one line, as plain text."""

    message_id: str
    before: str
    match: str
    """The words that were searched, as they are written there."""
    after: str


class ListedSession(SessionView, frozen=True, kw_only=True):
    """A conversation in a list."""

    found: FoundView | None
    """With `search`: the newest message that has it. None if only the title does, or nothing is searched."""


class MessageView(Struct, frozen=True, kw_only=True):
    """A finished message. `pos` is None while its run is queued or going on."""

    id: str
    run_id: str
    role: str
    created_at: int
    pos: int | None
    message: Raw
    """The message as AG-UI spells it."""


class SessionWithMessages(SessionView, frozen=True, kw_only=True):
    """A conversation with a page of its messages."""

    messages: list[MessageView]
    next: str | None
    """The cursor of the following page; None on the last."""
    previous: str | None
    """The cursor of the page before; None on the first."""
    stream_after: int | None
    """On the last page: the messages hold everything up to this position, a stream after it has the rest."""


class InterruptView(Struct, frozen=True, kw_only=True):
    """A question to a person, with exactly what would be called."""

    id: str
    session_id: str
    run_id: str
    tool_call_id: str
    tool: str
    arguments: str
    """JSON text, as the model wrote it."""
    message: str
    state: InterruptState
    created_at: int
    expires_at: int


class Interrupts(Struct, frozen=True):
    """A session's questions, newest first, answered ones too."""

    items: list[InterruptView]


class SessionStatus(Struct, frozen=True, kw_only=True):
    """Where a conversation stands. `run_id`, `step` and `goal_met` are the newest run's that has begun."""

    state: SessionState
    run_id: str | None
    run_status: RunStatus | None
    step: int
    goal_met: bool | None
    last_pos: int
    pending: list[str]
    interrupts: list[InterruptView]
    """The open questions."""


class Sent(Struct, frozen=True, kw_only=True):
    """A message was taken in and has a run."""

    message_id: str | None
    run_id: str
    session_id: str
    status: RunStatus
    repeated: bool
    """It had been sent before, with the same key: this is what became of it then."""


class CancelledRun(Struct, frozen=True):
    """A run that was asked to stop; it ends as soon as its worker hears of it."""

    run_id: str
    status: RunStatus


class Cancelled(Struct, frozen=True):
    """The runs that were asked to stop: none if nothing was going on."""

    runs: list[CancelledRun]


class RunView(Struct, frozen=True, kw_only=True):
    """A run."""

    id: str
    session_id: str
    agent_id: str
    agent_name: str
    model: str
    title: str
    status: RunStatus
    error_code: str | None
    error_message: str | None
    """Why it failed, in words; null for runs of an older server."""
    goal_met: bool | None
    cancel_requested: bool
    epoch: int
    """How often it was claimed: above 1 it was taken over from a worker that was lost."""
    last_seq: int
    first_pos: int
    """Event `seq` of the run has the position `first_pos + seq` in its session."""
    created_at: int
    started_at: int | None
    ended_at: int | None
    request_id: str
    """The id of the request that began it, as the server's log has it; empty for a run of the library's."""
    user: str
    """The id of the user whose run it is."""
    user_name: str
    question: InterruptState | None
    """What became of what it asked a person; null if it asked nothing."""
    steps: int | None
    """This and the next four: what it used in all. Null until it has ended, and for runs of an older server."""
    input_tokens: int | None
    """Null too if no model call told what it used."""
    output_tokens: int | None
    cost: float | None
    """In the currency of the server's prices; null if its model has none."""
    usage_partial: bool | None
    """Whether a model call did not tell what it used, as one that was stopped: the figures are of the rest."""
    copied_from: str | None
    """The run it was copied from with its session, and with which its use was paid for: leave it out of sums. Null if
    it is no copy, empty if what it is a copy of is not known."""


class ToolExecutionView(Struct, frozen=True, kw_only=True):
    """A tool call as it was recorded."""

    key: str
    tool: str
    effect: Effect
    state: Literal["started", "finished"]
    error: str | None
    started_at: int
    ended_at: int | None


class ToolExecutions(Struct, frozen=True):
    """What tools a run called, in order."""

    items: list[ToolExecutionView]
    next: str | None


class ToolView(Struct, frozen=True, kw_only=True):
    """A tool agents may be given."""

    name: str
    description: str
    parameters: dict[str, Json]
    place: Place
    effect: Effect
    approval: Approval


class Tools(Struct, frozen=True):
    """The tools there are, by name: built-in ones, and those of connected workers."""

    items: list[ToolView]


class KeyView(Struct, frozen=True, kw_only=True):
    """An API key, without the key. Without permissions it may do all that its user may."""

    id: str
    user: str
    name: str
    prefix: str
    permissions: list[Permission] | None
    created_at: int
    last_used_at: int | None
    expires_at: int | None
    revoked_at: int | None
    made_by: str | None
    """The id of the API key that made it; null: a person did, or the operator."""


class Keys(Struct, frozen=True):
    """API keys, newest first, revoked ones too."""

    items: list[KeyView]


class NewKey(KeyView, frozen=True, kw_only=True):
    """An API key that was just made: the only time it is shown."""

    key: str


class Health(Struct, frozen=True):
    """The server is alive."""

    status: Literal["ok"] = "ok"


class Ready(Struct, frozen=True):
    """The server can take messages and run them."""

    status: Literal["ready"]
    workers: int


class About(Struct, frozen=True, kw_only=True):
    """The server, as far as its users need to know it."""

    version: str
    store: Literal["sqlite", "postgres"]
    home: Literal["embedded", "distributed"]
    """Whether the server works on runs in its own process, or leaves that to workers."""
    workers: int
    """How many are connected that work for this team."""
    started_at: int
    python: str


class ErrorDetail(Struct, frozen=True):
    """`code` is stable; `message` is for people and may change."""

    code: str
    message: str
    details: dict[str, Json]


class Error(Struct, frozen=True):
    """What every refusal looks like."""

    error: ErrorDetail


class Agents(Struct, frozen=True):
    """A page of agents. `next` is the cursor of the following page, null on the last."""

    items: list[AgentView]
    next: str | None


class Sessions(Struct, frozen=True):
    """A page of sessions."""

    items: list[ListedSession]
    next: str | None


class Runs(Struct, frozen=True):
    """A page of runs."""

    items: list[RunView]
    next: str | None
