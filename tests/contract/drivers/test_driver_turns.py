"""What a driver makes of a healthy turn, and what it sends to get one."""

from typing import Literal, TypeAlias

import pytest
from msgspec import json
from msgspec.structs import replace

from agio.core.model import ModelDriver, ModelSettings, StopReason, TextDelta, ToolCallDelta, Usage
from agio.protocol.messages import DataSource, ImagePart, Json, TextPart, UrlSource
from agio.testing import Call, HugeDelta, ModelServer, Reply, Stall
from tests.contract.drivers.turns import (
    ADD,
    OUTPUT,
    WEATHER,
    ask,
    calls_in,
    collect,
    end_of,
    read_until_text,
    reasoning_in,
    text_in,
)

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
Effort: TypeAlias = Literal["minimal", "low", "medium", "high"]
Choice: TypeAlias = Literal["auto", "required", "none"]
STOPS: list[tuple[Reply, dict[str, StopReason]]] = [
    (Reply(text="Cut o", stop="length"), {}),
    (Reply(text="Some", stop="content_filter"), {"anthropic": "refusal"}),
    (Reply(stop="content_filter"), {"anthropic": "refusal"}),
    (Reply(refusal="I will not."), {"gemini": "content_filter"}),
]


async def test_text_arrives_in_pieces_and_in_order(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: every wire format streams text as it is written."""
    server.script(Reply(text="Grüße aus Zürich, 世界! 👋🏽 Ünïcode everywhere."))
    events = await collect(driver, ask(wire))
    assert text_in(events) == "Grüße aus Zürich, 世界! 👋🏽 Ünïcode everywhere."
    assert sum(isinstance(event, TextDelta) for event in events) > 3
    assert end_of(events).stop == "end"
    assert end_of(events).vendor.wire == wire == driver.wire


async def test_the_request_carries_system_text_messages_and_tools(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: what the model is told is what the request says."""
    await collect(driver, ask(wire, tools=[WEATHER, ADD]))
    (call,) = server.calls
    assert call.wire == wire
    assert call.stream
    assert call.system == "You are a test."
    assert call.messages == [("user", "Hello, model.")]
    assert call.tool_names == ["get_weather", "add"]


async def test_an_empty_system_text_is_left_out(driver: ModelDriver, server: ModelServer, wire: str) -> None:
    """L3: vendors refuse empty text blocks."""
    await collect(driver, replace(ask(wire), system=""))
    assert server.calls[0].system == ""
    assert server.calls[0].rejection is None


async def test_reasoning_is_told_apart_from_text(driver: ModelDriver, server: ModelServer, wire: str) -> None:
    """L3: reasoning streams as reasoning."""
    server.script(Reply(reasoning="First I think about it.", text="Then I speak."))
    events = await collect(driver, ask(wire))
    assert reasoning_in(events) == "First I think about it."
    assert text_in(events) == "Then I speak."


async def test_a_tool_call_streams_its_arguments(driver: ModelDriver, server: ModelServer, wire: str) -> None:
    """L3: a tool call begins, streams its arguments and is done."""
    arguments: dict[str, Json] = {"city": 'Zürich \u2028 "quoted" \\ \n', "days": 3}
    server.script(Reply(text="Let me look.", tool_calls=[Call("get_weather", arguments)]))
    events = await collect(driver, ask(wire, tools=[WEATHER]))
    assert calls_in(events) == [("get_weather", arguments)]
    assert end_of(events).stop == "tool_calls"
    if wire != "gemini":
        assert sum(isinstance(event, ToolCallDelta) for event in events) > 2


async def test_a_tool_call_without_arguments_has_an_empty_object(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: no arguments are still JSON."""
    server.script(Reply(tool_calls=[Call("now", {})]))
    assert calls_in(await collect(driver, ask(wire, tools=[ADD]))) == [("now", {})]


@pytest.mark.parametrize("interleave", [False, True])
async def test_parallel_tool_calls_keep_their_arguments_apart(
    driver: ModelDriver, server: ModelServer, wire: str, interleave: bool
) -> None:
    """L3: parallel calls, one after the other or mixed, come out in order and whole."""
    calls = [
        Call("add", {"a": 1, "b": 20000}),
        Call("add", {"a": 3}),
        Call("get_weather", {"city": "Rom", "days": 1}),
    ]
    server.script(Reply(tool_calls=calls, interleave=interleave, chunk_chars=4))
    events = await collect(driver, ask(wire, tools=[WEATHER, ADD]))
    assert calls_in(events) == [(call.name, call.arguments) for call in calls]


async def test_usage_counts_cached_and_reasoning_tokens(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: usage means the same whatever the vendor counts."""
    said = Usage(input=1200, output=340, cached=1000, reasoning=300)
    server.script(Reply(text="Counted.", reasoning="Hm.", usage=said))
    got = end_of(await collect(driver, ask(wire))).usage
    # Anthropic does not tell reasoning tokens apart.
    assert got == (replace(said, reasoning=0) if wire == "anthropic" else said)


async def test_tokens_written_to_a_cache_count_as_input(server: ModelServer) -> None:
    """L3: Anthropic counts cached tokens beside the input, agio inside it."""
    from agio.drivers.registry import open_driver

    driver = open_driver("anthropic", server.endpoint("anthropic"))
    said = Usage(input=1500, output=10, cached=1000, cache_write=400)
    server.script(Reply(text="Counted.", usage=said))
    assert end_of(await collect(driver, ask("anthropic"))).usage == said
    await driver.aclose()


@pytest.mark.parametrize(
    ("reply", "otherwise"), STOPS, ids=["length", "content_filter", "blocked", "refusal"]
)
async def test_stop_reasons_are_told_apart(
    driver: ModelDriver, server: ModelServer, wire: str, reply: Reply, otherwise: dict[str, StopReason]
) -> None:
    """L3: a cut, filtered or refused answer says so."""
    server.script(reply)
    events = await collect(driver, ask(wire))
    assert end_of(events).stop == otherwise.get(wire, reply.stop_reason)
    assert text_in(events) == reply.text + (reply.refusal or "")


@pytest.mark.parametrize("source", [DataSource(PIXEL, "image/png"), UrlSource("https://example.com/a.png")])
async def test_images_go_in(
    driver: ModelDriver, server: ModelServer, wire: str, source: DataSource | UrlSource
) -> None:
    """L3: an image beside text reaches the model, inline or by address."""
    await collect(driver, ask(wire, [TextPart(text="What is this?"), ImagePart(source=source)]))
    (call,) = server.calls
    assert call.messages == [("user", "What is this?")]
    assert any(source.value in text for text in call.texts())


async def test_structured_output_sends_the_schema(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: the schema of the answer goes out in the vendor's own structured-output mode."""
    server.script(Reply(text='{"city":"Rom","days":2}'))
    events = await collect(driver, replace(ask(wire), output=OUTPUT))
    assert json.decode(text_in(events)) == {"city": "Rom", "days": 2}
    assert OUTPUT.schema in _tables(server.calls[0].body)


async def test_structured_output_and_tools_go_together(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: an agent with tools may also have an output type."""
    server.script(Reply(tool_calls=[Call("add", {"a": 1})]))
    await collect(driver, replace(ask(wire, tools=[ADD]), output=OUTPUT))
    assert OUTPUT.schema in _tables(server.calls[0].body)
    assert server.calls[0].tool_names == ["add"]


@pytest.mark.parametrize("effort", ["minimal", "low", "medium", "high"])
async def test_settings_are_accepted(
    driver: ModelDriver, server: ModelServer, wire: str, effort: Effort
) -> None:
    """L3: every setting has a form the vendor accepts, all at once."""
    settings = ModelSettings(
        max_output_tokens=4000, reasoning_effort=effort, tool_choice="auto", parallel_tool_calls=True
    )
    await collect(driver, replace(ask(wire, tools=[ADD]), settings=settings))
    assert server.calls[0].rejection is None


@pytest.mark.parametrize("choice", ["auto", "required", "none"])
async def test_tool_choice_and_sampling_are_accepted(
    driver: ModelDriver, server: ModelServer, wire: str, choice: Choice
) -> None:
    """L3: tool choice and sampling have a form the vendor accepts, with tools and without."""
    settings = ModelSettings(temperature=0.5, tool_choice=choice, parallel_tool_calls=False)
    await collect(driver, replace(ask(wire, tools=[ADD]), settings=settings))
    await collect(driver, replace(ask(wire), settings=settings))
    assert 0.5 in _values(server.calls[0].body)


async def test_a_thinking_model_may_have_its_sampling_set(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: what a vendor refuses beside thinking, or beside each other, is left out."""
    for settings in (
        ModelSettings(reasoning_effort="high", temperature=0.5, top_p=0.5),
        ModelSettings(0.5, 0.5),
    ):
        await collect(driver, replace(ask(wire), settings=settings))
    assert [call.rejection for call in server.calls] == [None, None]


async def test_a_thinking_model_may_be_made_to_call_a_tool(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: where a vendor refuses both at once, the tool goes before the thinking."""
    settings = ModelSettings(reasoning_effort="high", tool_choice="required", temperature=0.5, top_p=0.5)
    await collect(driver, replace(ask(wire, tools=[ADD]), settings=settings))
    assert server.calls[0].rejection is None


async def test_extra_body_is_merged_last(driver: ModelDriver, server: ModelServer, wire: str) -> None:
    """R12: what agio has no word for can still be sent."""
    extra: dict[str, dict[str, Json]] = {
        "openai-chat": {"metadata": {"team": "blue"}},
        "openai": {"metadata": {"team": "blue"}},
        "anthropic": {"metadata": {"user_id": "blue"}},
        "gemini": {"labels": {"team": "blue"}},
    }
    await collect(driver, replace(ask(wire), settings=ModelSettings(extra_body=extra[wire])))
    assert "blue" in server.calls[0].texts()


async def test_text_comes_while_the_model_still_speaks(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: a delta is handed on when it arrives; closing the stream closes the connection."""
    server.script(Reply(text="A long story, told slowly.", chunk_chars=2, fault=Stall(after_events=9)))
    stream = driver.stream(ask(wire))
    assert (await read_until_text(stream)).startswith("A")
    assert server.requests_open == 1
    await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    await server.wait_closed_by_client()
    assert server.requests_open == 0


async def test_a_finished_turn_leaves_the_connection_for_the_next(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """R12: turns of a run share one connection."""
    for _ in range(3):
        await collect(driver, ask(wire))
    assert server.connections == 1


async def test_a_huge_delta_is_read_whole(driver: ModelDriver, server: ModelServer, wire: str) -> None:
    """L3: a delta of a megabyte is one delta."""
    server.script(Reply(text="start", fault=HugeDelta()))
    events = await collect(driver, ask(wire))
    assert text_in(events) == "start".ljust(1_000_000, "x")


def _tables(value: Json) -> list[Json]:
    if isinstance(value, dict):
        inner: list[Json] = list(value.values())  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
        return [value, *(table for each in inner for table in _tables(each))]
    if isinstance(value, list):
        items: list[Json] = value  # pyright: ignore[reportUnknownVariableType]
        return [table for each in items for table in _tables(each)]
    return []


def _values(value: Json) -> list[Json]:
    return [value for table in _tables(value) if isinstance(table, dict) for value in table.values()]  # pyright: ignore
