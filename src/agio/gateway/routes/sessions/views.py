"""Sessions, their messages and questions as clients see them. Without FastAPI: the command line reads them too."""

from typing import Literal

from msgspec import Raw, Struct, convert

from agio.core.store.records import (
    Branch,
    InterruptRecord,
    MessageRecord,
    OnBusy,
    Page,
    SessionRecord,
    SessionState,
)
from agio.core.store.repository import InterruptState, RunStatus
from agio.protocol.messages import Json


class SessionView(Struct, frozen=True, kw_only=True):
    """A session of the caller with an agent."""

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
    leaf_run_id: str | None
    """The run that the next message continues: the newest, unless another branch was chosen."""
    branched: bool
    """Whether the session has more than one branch, or another run than the newest was chosen."""
    active_agent: str | None
    """The name of the agent that the conversation was handed over to; null: its own has it."""


class FoundView(Struct, frozen=True, kw_only=True):
    """A search hit: about 120 characters of the message as one line of plain text."""

    message_id: str
    run_id: str
    """The run of the message, which may be on another branch than the chosen one."""
    before: str
    match: str
    """The words that were searched, as they are written there."""
    after: str


class ListedSession(SessionView, frozen=True, kw_only=True):
    """A session in a list."""

    found: FoundView | None
    """With `search`: the newest message that has it. None if only the title does, or nothing is searched."""


class Sessions(Struct, frozen=True):
    """A page of sessions."""

    items: list[ListedSession]
    next: str | None


class MessageView(Struct, frozen=True, kw_only=True):
    """A finished message. `pos` is null while its run is queued or running."""

    id: str
    run_id: str
    role: str
    created_at: int
    pos: int | None
    message: Raw
    """The message as AG-UI spells it."""


class SessionWithMessages(SessionView, frozen=True, kw_only=True):
    """A session with a page of its messages."""

    messages: list[MessageView]
    next: str | None
    """The cursor of the following page; None on the last."""
    previous: str | None
    """The cursor of the page before; None on the first."""
    stream_after: int | None
    """On the last page: the messages hold everything up to this position, a stream after it has the rest."""
    shown_leaf: str | None
    """The run to which the path of these messages leads."""
    branches: list[Branch]
    """The runs of this path that have alternatives: other runs that continue the same run."""


class InterruptView(Struct, frozen=True, kw_only=True):
    """A question to a person, with the exact tool call."""

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
    reason: Literal["tool_call", "input_required"]
    """Whether the call may run, or what its tool asks during the call."""
    form: dict[str, Json] | None
    """The schema of the `content` of an answer to a tool."""
    url: str | None
    """The page a tool asks the person to open."""


class Interrupts(Struct, frozen=True):
    """A session's questions, newest first, including answered ones."""

    items: list[InterruptView]


class SessionStatus(Struct, frozen=True, kw_only=True):
    """A session's state. `run_id`, `step` and `goal_met` belong to the newest started run."""

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
    """An accepted message and its run."""

    message_id: str | None
    run_id: str
    session_id: str
    status: RunStatus
    repeated: bool
    """It had been sent before, with the same key: this is what became of it then."""


class CancelledRun(Struct, frozen=True):
    """A run that is being cancelled."""

    run_id: str
    status: RunStatus


class Cancelled(Struct, frozen=True):
    """The runs that are being cancelled; empty if none was open."""

    runs: list[CancelledRun]


def session_view(session: SessionRecord) -> SessionView:
    """Show a session."""
    return convert(session, SessionView, from_attributes=True)


def sessions_view(page: Page[SessionRecord]) -> Sessions:
    """Show a page of sessions."""
    return Sessions(
        [convert(session, ListedSession, from_attributes=True) for session in page.items], page.next
    )


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
    asked = record.question
    return InterruptView(
        id=record.id,
        session_id=record.session_id,
        run_id=record.run_id,
        tool_call_id=record.tool_call_id,
        tool=record.tool,
        arguments=record.arguments,
        message=record.message,
        state=record.state,
        created_at=record.created_at,
        expires_at=record.expires_at,
        reason="tool_call" if asked is None else "input_required",
        form=None if asked is None else asked.form,
        url=None if asked is None else asked.url,
    )
