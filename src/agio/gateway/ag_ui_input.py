"""What is taken of an AG-UI client's RunAgentInput, for ag_ui.py. The rest is history, and ours counts."""

from collections.abc import Collection, Sequence

from msgspec import UNSET, Struct, structs

from agio.core.config import AgentRunConfig, ServerLimits
from agio.errors import UserError
from agio.gateway.projection import ClientIds
from agio.gateway.routes.body import decode_json
from agio.protocol.codec import encode
from agio.protocol.messages import (
    AssistantMessage,
    ContextEntry,
    Message,
    ResumeEntry,
    RunAgentInput,
    ToolDeclaration,
    ToolMessage,
    UserMessage,
    json_object,
)

_MESSAGE_BYTES = AgentRunConfig().max_message_bytes
_ID_CHARS = 200


class Taken(Struct, frozen=True):
    """What a client says that may be new: checked, but not yet against what its session has."""

    ids: ClientIds
    messages: Sequence[Message]
    """Results of client-side calls that are pending, then user messages."""
    resume: Sequence[ResumeEntry]
    tools: Sequence[ToolDeclaration]
    context: Sequence[ContextEntry]

    def without(self, seen: Collection[str]) -> "Taken":
        """Leave out messages the session has."""
        return structs.replace(
            self, messages=[message for message in self.messages if message.id not in seen]
        )

    def check(self, limits: ServerLimits) -> None:
        """Refuse what is too large or too deep to be kept. Raises UserError."""
        for message in self.messages:
            check_id(message.id, "a message's id")
            if len(encode(message)) > _MESSAGE_BYTES:
                raise UserError("message_too_large", f"A message may have {_MESSAGE_BYTES} bytes.")
        whole = encode(self)
        if len(whole) > limits.json_body_bytes:
            raise UserError(
                "body_too_large",
                f"What is new in the input is larger than {limits.json_body_bytes} bytes.",
                {"limit_bytes": limits.json_body_bytes},
            )
        decode_json(whole, limits)


def ids_of(given: RunAgentInput) -> ClientIds:
    """Return what the client calls thread and run. Raises UserError `invalid_input`."""
    return ClientIds(check_id(given.thread_id, "threadId"), check_id(given.run_id, "runId"))


def check_id(identifier: str, what: str) -> str:
    """Return an id that can be kept. Raises UserError `invalid_input`."""
    if not 0 < len(identifier) <= _ID_CHARS or "\0" in identifier:
        raise UserError("invalid_input", f"As {what}, send 1 to {_ID_CHARS} characters.")
    return identifier


def begins(given: RunAgentInput) -> bool:
    """Whether a thread may begin with this: the client knows of no answer in it, and has something to say."""
    return (
        not given.resume
        and any(isinstance(message, UserMessage) for message in given.messages)
        and not any(isinstance(message, (AssistantMessage, ToolMessage)) for message in given.messages)
    )


def take(given: RunAgentInput, pending: Collection[str]) -> Taken:
    """Take results of the calls that are `pending`, the user messages after the last answer, and what is declared."""
    results = {
        message.tool_call_id: structs.replace(message, subagent_run_id=UNSET, encrypted_value=UNSET)
        for message in given.messages
        if isinstance(message, ToolMessage) and message.tool_call_id in pending
    }
    said: dict[str, Message] = {}
    for message in reversed(given.messages):
        if isinstance(message, (AssistantMessage, ToolMessage)):
            break
        if isinstance(message, UserMessage):
            said[message.id] = structs.replace(message, subagent_run_id=UNSET, encrypted_value=UNSET)
    return Taken(
        ids_of(given),
        [*results.values(), *reversed(said.values())],
        given.resume or (),
        given.tools or (),
        given.context or (),
    )


def cancels_on_disconnect(given: RunAgentInput) -> bool:
    """Whether `forwardedProps.agio.cancel_on_disconnect` is true: a stock client's abort then stops the run."""
    props = json_object(json_object(given.forwarded_props).get("agio"))
    return props.get("cancel_on_disconnect") is True
