"""The commands of a WebSocket client, and their answers. Events are sent as they are in the log.

A command is a JSON object with `type` and an `id` of the client's choice, which the answer repeats.
"""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from agio.errors import UserError
from agio.protocol.messages import Content, Json, ResumeEntry

Id: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]
Position: TypeAlias = Annotated[int, Meta(ge=0, le=2**53 - 1)]
OnBusy: TypeAlias = Literal["queue", "refuse", "interrupt", "steer"]


class _Command(Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    id: Id


class SendMessage(_Command, frozen=True, kw_only=True, tag="message"):
    """Send a message to a session, or to an agent, which starts a session. Acknowledged when it is stored."""

    content: Content
    session_id: Id | None = None
    agent_id: Id | None = None
    client_message_id: Id | None = None
    """The client's id of the message. Repeating it starts no second run."""
    on_busy: OnBusy | None = None
    """How the message is treated while a run is in progress; overrides the session's setting."""
    parent_run_id: Annotated[str, Meta(max_length=200)] | None = None
    """The run to continue; empty: none. Left out: the session's newest run, or the branch that was chosen."""
    copy_of: Id | None = None
    """The message that this one replaces, on a branch of its own."""


class Subscribe(_Command, frozen=True, kw_only=True, tag="subscribe"):
    """Subscribe to a session's events after a position. Repeating it restarts from the given position."""

    session_id: Id
    after: Position | None = None
    """The last position seen; None: from the start of the newest run."""


class Unsubscribe(_Command, frozen=True, kw_only=True, tag="unsubscribe"):
    """End the subscription to a session."""

    session_id: Id


class Cancel(_Command, frozen=True, kw_only=True, tag="cancel"):
    """Cancel a run, or all running and queued runs of a session."""

    session_id: Id | None = None
    run_id: Id | None = None


class Answer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's answer to a question about a tool call."""

    interrupt_id: Id
    approved: bool
    reason: str | None = None
    """The reason of a refusal, for the model."""
    edited_args: dict[str, Json] | None = None
    """Arguments that replace the model's."""
    content: dict[str, Json] | None = None
    """What a tool asked for."""

    def entry(self) -> ResumeEntry:
        """Return the answer as an AG-UI entry."""
        payload: dict[str, Json] = {"approved": self.approved}
        if self.reason is not None:
            payload["reason"] = self.reason
        if self.edited_args is not None:
            payload["editedArgs"] = self.edited_args
        if self.content is not None:
            payload["content"] = self.content
        return ResumeEntry(self.interrupt_id, "resolved", payload)


class Approve(_Command, frozen=True, kw_only=True, tag="approve"):
    """Answer all open questions of a session at once."""

    session_id: Id
    answers: Annotated[list[Answer], Meta(min_length=1, max_length=100)]


class Ping(_Command, frozen=True, kw_only=True, tag="ping"):
    """Check that the connection is alive."""


Command: TypeAlias = SendMessage | Subscribe | Unsubscribe | Cancel | Approve | Ping


class _Answered(Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    pass


class Ack(_Answered, frozen=True, kw_only=True, tag="ack"):
    """The command was carried out."""

    id: str
    session_id: str | None = None
    run_id: str | None = None
    """For `message` and `approve`: the run that was started or queued."""
    message_id: str | None = None
    repeated: bool = False
    """Whether the message had been accepted before; `run_id` is then its first run."""
    after: int | None = None
    """For `subscribe`: the position after which the events begin."""
    run_ids: list[str] | None = None
    """For `cancel`: the runs that will stop."""


class Problem(Struct, frozen=True):
    """Why a command was refused: a stable code, a sentence, and details for programs."""

    code: str
    message: str
    details: dict[str, Json] = field(default_factory=dict[str, Json])


class Refused(_Answered, frozen=True, kw_only=True, tag="error"):
    """The command failed. Without an `id`, it could not be decoded."""

    error: Problem
    id: str | None = None


class Pong(_Answered, frozen=True, kw_only=True, tag="pong"):
    """The answer to `ping`."""

    id: str


class Deleted(_Answered, frozen=True, kw_only=True, tag="deleted"):
    """A subscribed session was deleted; no more events follow."""

    session_id: str


Answered: TypeAlias = Ack | Refused | Pong | Deleted


class _Named(Struct):
    id: Id | None = None


_decoder = msgspec.json.Decoder(Command)
_name_decoder = msgspec.json.Decoder(_Named)


def decode_command(text: str) -> Command:
    """Decode a command. Raises UserError `invalid_command`."""
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UserError("invalid_command", f"This is not a command: {error}.") from error


def id_of(text: str) -> str | None:
    """Return the id of an invalid command for its refusal, or None."""
    try:
        return _name_decoder.decode(text).id
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
