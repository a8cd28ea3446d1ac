"""What a client says over the WebSocket, and what it is answered. Events come as the log has them.

A command is a JSON object with `type` and an `id` of the client's choice, which its answer carries.
"""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from agio.errors import UserError
from agio.protocol.messages import Content, Json, ResumeEntry

Id: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]
Position: TypeAlias = Annotated[int, Meta(ge=0, le=2**53 - 1)]
OnBusy: TypeAlias = Literal["queue", "refuse", "interrupt"]


class _Command(Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    id: Id


class SendMessage(_Command, frozen=True, kw_only=True, tag="message"):
    """Say something in a session, or to an agent, which starts a session. Acknowledged when it is stored."""

    content: Content
    session_id: Id | None = None
    agent_id: Id | None = None
    client_message_id: Id | None = None
    """The same id again is the same message: one run."""
    on_busy: OnBusy | None = None
    """What becomes of it while a run is going on, if not as the session says."""


class Subscribe(_Command, frozen=True, kw_only=True, tag="subscribe"):
    """Get a session's events after a position, and from then on; again: from that position on."""

    session_id: Id
    after: Position | None = None
    """The last position seen; None: from the start of the newest run."""


class Unsubscribe(_Command, frozen=True, kw_only=True, tag="unsubscribe"):
    """Get no more of a session's events."""

    session_id: Id


class Cancel(_Command, frozen=True, kw_only=True, tag="cancel"):
    """Stop a run, or what is going on in a session and what waits there."""

    session_id: Id | None = None
    run_id: Id | None = None


class Answer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person says to a question about a call."""

    interrupt_id: Id
    approved: bool
    reason: str | None = None
    """Why not, for the model."""
    edited_args: dict[str, Json] | None = None
    """Arguments to use instead."""

    def entry(self) -> ResumeEntry:
        """Return the answer as AG-UI spells it."""
        payload: dict[str, Json] = {"approved": self.approved}
        if self.reason is not None:
            payload["reason"] = self.reason
        if self.edited_args is not None:
            payload["editedArgs"] = self.edited_args
        return ResumeEntry(self.interrupt_id, "resolved", payload)


class Approve(_Command, frozen=True, kw_only=True, tag="approve"):
    """Answer a session's open questions, all of them at once."""

    session_id: Id
    answers: Annotated[list[Answer], Meta(min_length=1, max_length=100)]


class Ping(_Command, frozen=True, kw_only=True, tag="ping"):
    """Ask whether the other side is there."""


Command: TypeAlias = SendMessage | Subscribe | Unsubscribe | Cancel | Approve | Ping


class _Answered(Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    pass


class Ack(_Answered, frozen=True, kw_only=True, tag="ack"):
    """The command was carried out."""

    id: str
    session_id: str | None = None
    run_id: str | None = None
    """Of `message` and `approve`: the run it became."""
    message_id: str | None = None
    repeated: bool = False
    """The message had been accepted before: this is the run it became then."""
    after: int | None = None
    """Of `subscribe`: the position after which the events begin."""
    run_ids: list[str] | None = None
    """Of `cancel`: the runs that will stop."""


class Problem(Struct, frozen=True):
    """Why a command was refused: a stable code, a sentence, and details for programs."""

    code: str
    message: str
    details: dict[str, Json] = field(default_factory=dict[str, Json])


class Refused(_Answered, frozen=True, kw_only=True, tag="error"):
    """The command was not carried out; without an `id`, it could not be read."""

    error: Problem
    id: str | None = None


class Pong(_Answered, frozen=True, kw_only=True, tag="pong"):
    """The answer to `ping`."""

    id: str


class Deleted(_Answered, frozen=True, kw_only=True, tag="deleted"):
    """A session that was subscribed to is gone: no more of its events."""

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
    """Return the id of what may not be a command, so that its refusal can carry it."""
    try:
        return _name_decoder.decode(text).id
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
