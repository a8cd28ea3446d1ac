"""The parts of a RunAgentInput that ag_ui.py uses. The client's history is ignored: the log is authoritative."""

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, structs

from agio.core.config import ServerLimits
from agio.core.tool import check_offered_size
from agio.errors import UserError
from agio.gateway.doors.projection import ClientIds
from agio.gateway.http.body import check_json
from agio.protocol.codec import encode
from agio.protocol.messages import (
    ContextEntry,
    Message,
    ResumeEntry,
    ToolDeclaration,
    ToolMessage,
    UserMessage,
)

_ID_CHARS = 200
_MAX_MESSAGES = 20_000
_ANSWERS = ("assistant", "tool")
_NONE = Raw(b"[]")
T = TypeVar("T")


class _Body(Struct, rename="camel"):
    """A RunAgentInput, decoded as little as possible: state and old messages are large."""

    thread_id: str
    run_id: str
    messages: Annotated[list[Raw], Meta(max_length=_MAX_MESSAGES)]
    protocol_version: str | UnsetType = UNSET
    parent_run_id: str | UnsetType = UNSET
    tools: Raw = _NONE
    context: Raw = _NONE
    resume: Raw = _NONE
    forwarded_props: Raw = _NONE


class _Head(Struct, rename="camel"):
    role: Literal["developer", "system", "assistant", "user", "tool", "reasoning", "activity"]
    tool_call_id: str = ""


class _OwnProps(Struct, frozen=True):
    cancel_on_disconnect: bool = False


class _Props(Struct, frozen=True):
    agio: _OwnProps = _OwnProps()


class ClientInput(Struct, frozen=True):
    """A client's input. Its messages are decoded on use."""

    ids: ClientIds
    messages: Sequence[Raw]
    resume: Sequence[ResumeEntry]
    tools: Sequence[ToolDeclaration]
    context: Sequence[ContextEntry]
    cancel_on_disconnect: bool
    """`forwardedProps.agio.cancel_on_disconnect`: a stock client's abort then stops the run."""

    limits: ServerLimits

    def newest(self) -> Iterator[tuple[_Head, Raw]]:
        """Return the messages, newest first. Raises UserError `invalid_input`, `body_too_large`."""
        room = self.limits.json_body_bytes
        is_new = True
        for raw in reversed(self.messages):
            head = _decoded(raw, _Head)
            is_new = is_new and head.role not in _ANSWERS
            room -= len(bytes(raw)) if is_new else 0
            if room < 0:
                raise _too_large(self.limits)
            yield head, raw


def read_input(body: bytes, limits: ServerLimits) -> ClientInput:
    """Decode a RunAgentInput. Raises UserError `invalid_input`, `invalid_schema`, `body_too_large`."""
    given = _decoded(body, _Body)
    declared = [bytes(part) for part in (given.tools, given.context, given.resume)]
    if sum(map(len, declared)) > limits.json_body_bytes:
        raise _too_large(limits)
    check_offered_size(declared[0])
    for part in declared:
        check_json(part, limits)
    try:
        props = _decoded(given.forwarded_props, _Props)
    except UserError:  # props of another format
        if given.forwarded_props == Raw(b"null"):
            raise
        props = _Props()
    return ClientInput(
        ClientIds(check_id(given.thread_id, "threadId"), check_id(given.run_id, "runId")),
        given.messages,
        _decoded(given.resume, list[ResumeEntry]),
        _decoded(given.tools, list[ToolDeclaration]),
        _decoded(given.context, list[ContextEntry]),
        props.agio.cancel_on_disconnect,
        limits,
    )


def _decoded(body: bytes | Raw, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UserError("invalid_input", f"This is not an AG-UI 1.0 run input: {error}.") from error


class Taken(Struct, frozen=True):
    """The input that may be new: checked, but not yet compared with the session."""

    ids: ClientIds
    messages: Sequence[Message]
    """Results of pending client-side calls, then user messages."""
    resume: Sequence[ResumeEntry]
    tools: Sequence[ToolDeclaration]
    context: Sequence[ContextEntry]

    def without(self, seen: Collection[str]) -> "Taken":
        """Return the input without messages that the session already has."""
        return structs.replace(
            self, messages=[message for message in self.messages if message.id not in seen]
        )

    def check(self, limits: ServerLimits) -> None:
        """Refuse input that is too large or too deeply nested to store. Raises UserError."""
        for message in self.messages:
            check_id(message.id, "a message's id")
        whole = encode(self)
        if len(whole) > limits.json_body_bytes:
            raise _too_large(limits)
        check_json(whole, limits)


def _too_large(limits: ServerLimits) -> UserError:
    return UserError(
        "body_too_large",
        f"What is new in the input is larger than {limits.json_body_bytes} bytes.",
        {"limit_bytes": limits.json_body_bytes},
    )


def check_id(identifier: str, what: str) -> str:
    """Return the id if it can be stored. Raises UserError `invalid_input`."""
    if not 0 < len(identifier) <= _ID_CHARS or "\0" in identifier:
        raise UserError("invalid_input", f"As {what}, send 1 to {_ID_CHARS} characters.")
    return identifier


def begins(given: ClientInput) -> bool:
    """Whether this input may start a thread: it has a user message and no answer."""
    if given.resume:
        return False
    has_said = False
    for head, _ in given.newest():
        if head.role in _ANSWERS:
            return False
        has_said = has_said or head.role == "user"
    return has_said


def take(given: ClientInput, pending: Collection[str]) -> Taken:
    """Return results of `pending` calls, user messages after the last answer, tools, context and resume.

    Raises UserError `invalid_input`, `body_too_large`.
    """
    results: dict[str, Message] = {}
    said: dict[str, Message] = {}
    is_answered = False
    for head, raw in given.newest():
        if head.role == "user" and not is_answered:
            message = _decoded(raw, UserMessage)
            said[message.id] = structs.replace(message, subagent_run_id=UNSET, encrypted_value=UNSET)
        elif head.role == "tool" and head.tool_call_id in pending:
            result = _decoded(raw, ToolMessage)
            results.setdefault(
                result.tool_call_id, structs.replace(result, subagent_run_id=UNSET, encrypted_value=UNSET)
            )
        is_answered = is_answered or head.role in _ANSWERS
        if is_answered and len(results) == len(pending):
            break
    return Taken(
        given.ids,
        [*reversed(results.values()), *reversed(said.values())],
        given.resume,
        given.tools,
        given.context,
    )
