"""The input of a run: the agent's definition and the request."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct, field

from agio.core.config import AgentRunConfig
from agio.core.schema.schema import OutputType
from agio.errors import UserError
from agio.protocol.ids import new_id
from agio.protocol.messages import (
    Content,
    ContentPart,
    ContextEntry,
    Message,
    ResumeEntry,
    RunAgentInput,
    ToolDeclaration,
    UserMessage,
)


class AgentSpec(Struct, frozen=True):
    """The definition of an agent for the engine. `provider` and `model` are the two parts of `provider:model`."""

    name: str
    instructions: str
    provider: str
    model: str
    goal: str | None = None
    output: OutputType | None = None
    config: AgentRunConfig = AgentRunConfig()

    @property
    def model_id(self) -> str:
        """The model id that users write: `provider:model`."""
        return f"{self.provider}:{self.model}"


class RunRequest(Struct, frozen=True, kw_only=True):
    """A request to start a run: user messages, results of client-side tools, or answers to interrupts."""

    session_id: str
    messages: Sequence[Message] = ()
    resume: Sequence[ResumeEntry] = ()
    tools: Sequence[ToolDeclaration] = ()
    context: Sequence[ContextEntry] = ()
    run_id: str = field(default_factory=lambda: new_id("run"))
    tenant: str = "default"
    user: str = "local"
    project: str | None = None
    mark: str = ""
    """The random mark that delimits untrusted text. If empty, a new one is generated."""
    traceparent: str = ""
    """The W3C trace context that the run continues; empty: its calls carry none."""


def check_request(request: RunRequest) -> None:
    """Refuse a request that could not be decoded from the log. Raises UserError `invalid_message`."""
    given = RunAgentInput(request.session_id, request.run_id, list(request.messages))
    given.resume = list(request.resume)
    given.tools = list(request.tools)
    given.context = list(request.context)
    try:
        msgspec.json.decode(msgspec.json.encode(given), type=RunAgentInput)
    except (msgspec.MsgspecError, TypeError, UnicodeEncodeError, RecursionError) as error:
        raise UserError(
            "invalid_message",
            f"The run cannot take this input: {error}. Send text, content parts or messages.",
        ) from error


def messages_of(message: str | Content | Sequence[Message]) -> list[Message]:
    """Convert text, content parts or messages into messages. Raises UserError `invalid_message`."""
    if isinstance(message, str):
        return [UserMessage(id=new_id("msg"), content=message)]
    if not isinstance(message, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserError(
            "invalid_message", f"A message is text, content parts or messages, not {type(message).__name__}."
        )
    parts = [part for part in message if isinstance(part, ContentPart)]
    if parts and len(parts) == len(message):
        return [UserMessage(id=new_id("msg"), content=parts)]
    return [entry for entry in message if not isinstance(entry, ContentPart)]
