"""What the tests of drivers say to a driver and how they read its answer."""

from collections.abc import AsyncIterator, Iterable, Sequence

import msgspec
import pytest
from msgspec.structs import replace

from agio.core.model import (
    ModelDriver,
    ModelEvent,
    ModelRequest,
    OutputSpec,
    ReasoningDelta,
    TextDelta,
    ToolCallBegin,
    ToolCallDelta,
    ToolCallDone,
    ToolSpec,
    TurnEnd,
)
from agio.errors import ModelError
from agio.protocol.messages import (
    AssistantMessage,
    Content,
    FunctionCall,
    Json,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
)

WIRES = ("openai-chat", "openai", "anthropic", "gemini")
MODELS = {
    "openai-chat": "gpt-5.1",
    "openai": "gpt-5.1",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-3-pro-preview",
}
OTHER_MODELS = {
    "openai-chat": "gpt-4.1",
    "openai": "gpt-4.1",
    "anthropic": "claude-opus-4-6",
    "gemini": "gemini-2.5-flash",
}
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
LOOSE_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number", "default": 0}},
    "required": ["a"],
}
WEATHER = ToolSpec("get_weather", "Tells the weather.", SCHEMA)
ADD = ToolSpec("add", "Adds numbers.", LOOSE_SCHEMA)
OUTPUT = OutputSpec("trip", SCHEMA)


def ask(wire: str, content: Content = "Hello, model.", *, tools: Sequence[ToolSpec] = ()) -> ModelRequest:
    """Return a request with one user message."""
    messages = [UserMessage(id="u1", content=content)]
    return ModelRequest(MODELS[wire], "You are a test.", messages, tools=tools)


async def collect(driver: ModelDriver, request: ModelRequest) -> list[ModelEvent]:
    """Return all events of a turn."""
    heard: list[ModelEvent] = []
    await hear_into(heard, driver, request)
    return heard


async def hear_into(heard: list[ModelEvent], driver: ModelDriver, request: ModelRequest) -> None:
    """Add the events of a turn to a list that outlives an error."""
    async for events in driver.stream(request):
        heard.extend(events)


async def fail(driver: ModelDriver, request: ModelRequest) -> ModelError:
    """Return the error a turn ends with."""
    with pytest.raises(ModelError) as caught:
        await collect(driver, request)
    return caught.value


async def read_until_text(stream: AsyncIterator[Sequence[ModelEvent]]) -> str:
    """Read a stream until it has said something and return that."""
    async for events in stream:
        if said := text_in(events):
            return said
    raise AssertionError("The stream ended without text.")


def text_in(events: Iterable[ModelEvent]) -> str:
    """Return the text of a turn."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def reasoning_in(events: Iterable[ModelEvent]) -> str:
    """Return the reasoning of a turn."""
    return "".join(event.text for event in events if isinstance(event, ReasoningDelta))


def end_of(events: Sequence[ModelEvent]) -> TurnEnd:
    """Return the end of a turn, which must be its last event and the only end."""
    end = events[-1]
    assert isinstance(end, TurnEnd)
    assert sum(isinstance(event, TurnEnd) for event in events) == 1
    return end


def calls_in(events: Iterable[ModelEvent]) -> list[tuple[str, Json]]:
    """Return the tool calls of a turn in their order, each begun before its deltas and done after them."""
    names: list[str] = []
    arguments: list[str] = []
    done: set[int] = set()
    for event in events:
        match event:
            case ToolCallBegin(index, name):
                assert index == len(names)
                names.append(name)
                arguments.append("")
            case ToolCallDelta(index, text):
                assert index not in done
                arguments[index] += text
            case ToolCallDone(index):
                assert index not in done
                done.add(index)
            case _:
                pass
    assert done == set(range(len(names)))
    return [(name, msgspec.json.decode(text)) for name, text in zip(names, arguments, strict=True)]


def go_on(request: ModelRequest, events: Sequence[ModelEvent], results: Sequence[Content]) -> ModelRequest:
    """Return the request that follows a turn, as the loop sends it: the turn, and its tools' results."""
    number = len(request.messages)
    calls = [
        ToolCall(f"call-{number}-{at}", FunctionCall(name, msgspec.json.encode(arguments).decode()))
        for at, (name, arguments) in enumerate(calls_in(events))
    ]
    turn = AssistantMessage(id=f"a{number}")
    if text := text_in(events):
        turn.content = text
    if calls:
        turn.tool_calls = calls
    said: list[Message] = [turn]
    for call, result in zip(calls, results, strict=True):
        said.append(ToolMessage(id=f"t{call.id}", content=result, tool_call_id=call.id))
    vendor = {**request.vendor, turn.id: end_of(events).vendor}
    return replace(request, messages=[*request.messages, *said], vendor=vendor)


def say(request: ModelRequest, text: str) -> ModelRequest:
    """Return the request with one more user message."""
    message = UserMessage(id=f"u{len(request.messages)}", content=text)
    return replace(request, messages=[*request.messages, message])
