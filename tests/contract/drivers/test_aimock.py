"""The drivers against a model server written by others."""

from collections.abc import AsyncIterator, Iterator

import pytest

from agio.core.model import ModelDriver, ReasoningDelta, TextDelta
from agio.drivers.registry import open_driver
from agio.protocol.messages import Json
from tests.contract.drivers.turns import (
    ADD,
    WEATHER,
    ask,
    calls_in,
    collect,
    end_of,
    fail,
    go_on,
    reasoning_in,
    say,
    text_in,
)
from tests.support.aimock import Aimock

STORY = "Once upon a time there was a 世界 full of streams. Grüße"
ARGUMENTS = '{"city":"Zürich","days":3}'
TWO_CALLS = [{"name": "get_weather", "arguments": ARGUMENTS}, {"name": "add", "arguments": '{"a":1,"b":2}'}]
FIXTURES: list[dict[str, Json]] = [
    {"match": {"userMessage": "tools", "hasToolResult": True}, "response": {"content": "It is sunny."}},
    {"match": {"userMessage": "two tools"}, "response": {"toolCalls": TWO_CALLS}},
    {
        "match": {"userMessage": "think and use tools"},
        "response": {"reasoning": "I need the weather.", "toolCalls": TWO_CALLS[:1]},
    },
    {
        "match": {"userMessage": "say and use tools"},
        "response": {"content": "Let me look.", "toolCalls": TWO_CALLS[:1]},
    },
    {"match": {"userMessage": "think"}, "response": {"content": "Yes.", "reasoning": "Hm, let me think."}},
    {"match": {"userMessage": "length"}, "response": {"content": "Cut o", "finishReason": "length"}},
    {
        "match": {"userMessage": "limit"},
        "response": {
            "error": {"message": "Slow down.", "type": "rate_limit_error", "code": "rate_limit_exceeded"},
            "status": 429,
            "retryAfter": 9,
        },
    },
    {
        "match": {"userMessage": "down"},
        "response": {"error": {"message": "Broken.", "type": "server_error"}, "status": 500},
    },
    {"match": {"userMessage": "cut"}, "response": {"content": STORY}, "truncateAfterChunks": 4, "latency": 5},
    {"match": {"userMessage": "story"}, "response": {"content": STORY}},
]


@pytest.fixture(scope="module")
def aimock() -> Iterator[Aimock]:
    """One aimock for all tests of this file."""
    mock = Aimock(FIXTURES)
    yield mock
    mock.close()


@pytest.fixture
async def driver(wire: str, aimock: Aimock) -> AsyncIterator[ModelDriver]:
    """The driver of the wire format, pointed at aimock."""
    driver = open_driver(wire, aimock.endpoint(wire))
    yield driver
    await driver.aclose()


async def test_text_streams(driver: ModelDriver, wire: str) -> None:
    """L3: text arrives in pieces and ends well."""
    events = await collect(driver, ask(wire, "Tell me a story."))
    assert text_in(events) == STORY
    assert sum(isinstance(event, TextDelta) for event in events) > 3
    assert end_of(events).stop == "end"


async def test_reasoning_streams(driver: ModelDriver, wire: str) -> None:
    """L3: reasoning arrives apart from the text."""
    events = await collect(driver, ask(wire, "Please think."))
    assert text_in(events) == "Yes."
    assert reasoning_in(events) == "Hm, let me think."
    assert any(isinstance(event, ReasoningDelta) for event in events)


@pytest.mark.parametrize("prompt", ["two tools", "say and use tools", "think and use tools"])
async def test_tool_calls_make_the_round_trip(driver: ModelDriver, wire: str, prompt: str) -> None:
    """L3: calls come out whole, their results go back, the conversation goes on."""
    request = ask(wire, prompt, tools=[WEATHER, ADD])
    events = await collect(driver, request)
    calls = calls_in(events)
    assert calls[0] == ("get_weather", {"city": "Zürich", "days": 3})
    assert calls[1:] == ([("add", {"a": 1, "b": 2})] if prompt == "two tools" else [])
    assert end_of(events).stop == "tool_calls"
    request = go_on(request, events, ["sunny"] * len(calls))
    events = await collect(driver, request)
    assert text_in(events) == "It is sunny."
    request = say(go_on(request, events, []), "Tell me a story.")
    assert text_in(await collect(driver, request)) == STORY


async def test_a_cut_answer_says_so(driver: ModelDriver, wire: str) -> None:
    """L3: the length limit is told."""
    assert end_of(await collect(driver, ask(wire, "length"))).stop == "length"


async def test_a_rate_limit_is_told_with_its_time(driver: ModelDriver, wire: str) -> None:
    """C6: 429 and Retry-After reach the loop."""
    error = await fail(driver, ask(wire, "limit"))
    assert (error.code, error.retryable, error.retry_after_s) == ("rate_limited", True, 9)


async def test_a_server_error_is_told(driver: ModelDriver, wire: str) -> None:
    """L13: 500 may be tried again."""
    error = await fail(driver, ask(wire, "down"))
    assert (error.code, error.retryable) == ("model_unavailable", True)


async def test_a_connection_cut_by_the_server_is_told(driver: ModelDriver, wire: str) -> None:
    """L13: an answer that breaks off is not taken for a whole one."""
    error = await fail(driver, ask(wire, "cut"))
    assert (error.code, error.retryable) == ("stream_broken", True)
