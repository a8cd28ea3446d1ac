"""What the REST routes answer with, as clients see it. Times are milliseconds since 1970."""

from typing import Literal

from msgspec import Raw, Struct, convert

from agio.core.link import Place
from agio.core.repository import Approval, Effect, RunInfo, RunStatus
from agio.core.store import (
    AgentRecord,
    AgentSource,
    AgentStatus,
    AgentTool,
    ApiKey,
    ApprovalPolicy,
    InterruptRecord,
    InterruptState,
    MessageRecord,
    OnBusy,
    Page,
    Role,
    SessionRecord,
    SessionState,
    ToolExecution,
)
from agio.protocol.messages import Json


class AgentView(Struct, frozen=True, kw_only=True):
    """An agent. One that is defined in Python is read-only."""

    id: str
    name: str
    description: str
    goal: str | None
    system_prompt: str
    model_provider: str
    model_name: str
    temperature: float | None
    max_steps: int | None
    status: AgentStatus
    approval: ApprovalPolicy
    tools: list[AgentTool]
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


class Me(Struct, frozen=True, kw_only=True):
    """Who the credential stands for."""

    tenant: str
    user: str
    name: str
    role: Role


class KeyView(Struct, frozen=True, kw_only=True):
    """An API key, without the key."""

    id: str
    name: str
    prefix: str
    created_at: int
    last_used_at: int | None
    revoked_at: int | None


class Keys(Struct, frozen=True):
    """The caller's API keys, newest first, revoked ones too."""

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

    items: list[SessionView]
    next: str | None


class Runs(Struct, frozen=True):
    """A page of runs."""

    items: list[RunView]
    next: str | None


def agent_view(agent: AgentRecord) -> AgentView:
    """Show an agent."""
    return AgentView(
        id=agent.id,
        name=agent.name,
        description=agent.description,
        goal=agent.goal,
        system_prompt=agent.system_prompt,
        model_provider=agent.model_provider,
        model_name=agent.model_name,
        temperature=agent.temperature,
        max_steps=agent.max_steps,
        status=agent.status,
        approval=agent.approval,
        tools=agent.tools,
        source=agent.source,
        read_only=agent.source != "stored",
        created_at=agent.created_at,
        updated_at=agent.updated_at,
    )


def session_view(session: SessionRecord) -> SessionView:
    """Show a session."""
    return convert(session, SessionView, from_attributes=True)


def message_view(record: MessageRecord) -> MessageView:
    """Show a message."""
    return MessageView(
        id=record.id,
        run_id=record.run_id,
        role=record.role,
        created_at=record.created_at,
        pos=record.pos,
        message=Raw(record.message),
    )


def interrupt_view(record: InterruptRecord) -> InterruptView:
    """Show a question."""
    return convert(record, InterruptView, from_attributes=True)


def run_view(run: RunInfo) -> RunView:
    """Show a run."""
    return RunView(
        id=run.run_id,
        session_id=run.thread_id,
        agent_id=run.agent_id,
        agent_name=run.agent,
        model=run.model,
        title=run.title,
        status=run.status,
        error_code=run.error_code,
        goal_met=run.goal_met,
        cancel_requested=run.cancel_requested,
        epoch=run.epoch,
        last_seq=run.last_seq,
        first_pos=run.first_pos,
        created_at=run.created_at,
        started_at=run.started_at,
        ended_at=run.ended_at,
    )


def execution_view(record: ToolExecution) -> ToolExecutionView:
    """Show a tool call."""
    return convert(record, ToolExecutionView, from_attributes=True)


def key_view(key: ApiKey) -> KeyView:
    """Show an API key."""
    return convert(key, KeyView, from_attributes=True)


def agents_view(page: Page[AgentRecord]) -> Agents:
    """Show a page of agents."""
    return Agents([agent_view(agent) for agent in page.items], page.next)


def sessions_view(page: Page[SessionRecord]) -> Sessions:
    """Show a page of sessions."""
    return Sessions([session_view(session) for session in page.items], page.next)


def runs_view(page: Page[RunInfo]) -> Runs:
    """Show a page of runs."""
    return Runs([run_view(run) for run in page.items], page.next)
