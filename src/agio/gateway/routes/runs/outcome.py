"""The outcome of a run, for programs that wait: text, reasoning, tool calls, tokens."""

from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from agio.core.run.fold import Fold
from agio.core.store.repository import RunInfo
from agio.protocol.events import Interrupt
from agio.protocol.messages import (
    AssistantMessage,
    Content,
    Json,
    Message,
    ReasoningMessage,
    ToolMessage,
    UserMessage,
)

RunState: TypeAlias = Literal[
    "queued", "running", "completed", "failed", "cancelled", "interrupted", "expired"
]


class Segment(Struct, frozen=True):
    """A part of the agent's output, in order."""

    type: Literal["text", "reasoning"]
    text: str


class TurnToolCall(Struct, frozen=True):
    """A tool call. `arguments` is text if the model wrote no JSON object; `result` is null until it has one."""

    name: str
    arguments: Json
    result: Content | None


class TurnUsage(Struct, frozen=True):
    """Tokens of all model calls of a run."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_input_tokens: int
    reasoning_tokens: int


class RunOutcome(Struct, frozen=True, kw_only=True):
    """The outcome of a run; if `status` says that it has not ended, the outcome so far."""

    id: str
    session_id: str
    status: RunState
    output: list[Segment]
    tool_calls: list[TurnToolCall]
    usage: TurnUsage | None
    """Null: no model call has reported its usage."""
    interrupts: list[Interrupt] | UnsetType = UNSET
    """The open questions of one that was interrupted."""


def outcome_view(info: RunInfo, fold: Fold) -> RunOutcome:
    """Return the outcome of a run."""
    usage = fold.total_usage
    return RunOutcome(
        id=info.run_id,
        session_id=info.session_id,
        status=info.status,
        output=_segments(fold),
        tool_calls=tool_calls_of(fold),
        usage=TurnUsage(usage.input, usage.output, usage.total, usage.cached, usage.reasoning)
        if usage.total
        else None,
        interrupts=interrupts_of(fold),
    )


def interrupts_of(fold: Fold) -> list[Interrupt] | UnsetType:
    """Return the questions of a run that ended with some."""
    return list(fold.interrupts.values()) if fold.status == "interrupted" else UNSET


def tool_calls_of(fold: Fold) -> list[TurnToolCall]:
    """Return a run's tool calls with their results, in the order of the calls."""
    own = said_by(fold)
    results = {message.tool_call_id: message.content for message in own if isinstance(message, ToolMessage)}
    return [
        TurnToolCall(call.function.name, _arguments(call.function.arguments), results.get(call.id))
        for message in own
        if isinstance(message, AssistantMessage) and message.tool_calls is not UNSET
        for call in message.tool_calls
    ]


def said_by(fold: Fold) -> list[Message]:
    """Return the messages a run added, without user messages and corrections."""
    return [
        message for message in fold.messages[fold.first_message :] if not isinstance(message, UserMessage)
    ]


def _segments(fold: Fold) -> list[Segment]:
    segments: list[Segment] = []
    for message in said_by(fold):
        match message:
            case ReasoningMessage(content=text):
                segments.append(Segment("reasoning", text))
            case AssistantMessage(content=str() as text) if text:
                segments.append(Segment("text", text))
            case _:
                pass
    if fold.draft is not None and fold.draft.text:
        segments.append(Segment("text", "".join(fold.draft.text)))
    return segments


def _arguments(text: str) -> Json:
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Json])
    except (msgspec.DecodeError, RecursionError):
        return text
