"""Sessions, their messages and questions as clients see them. Without FastAPI: the command line reads them too."""

from msgspec import Raw, Struct, convert

from agio.core.store.records import InterruptRecord, MessageRecord, OnBusy, Page, SessionRecord, SessionState
from agio.core.store.repository import InterruptState, RunStatus


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


class Sessions(Struct, frozen=True):
    """A page of sessions."""

    items: list[ListedSession]
    next: str | None


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
    return convert(record, InterruptView, from_attributes=True)
