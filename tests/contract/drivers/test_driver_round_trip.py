"""A turn sent back as history: ids match, and what the vendor signed comes back as it was."""

from typing import Literal

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agio.core.model import ModelDriver, ModelEvent, ModelSettings, ToolCallBegin, ToolCallDelta
from agio.protocol.messages import AssistantMessage, ContentPart, DataSource, ImagePart, TextPart, ToolMessage
from agio.testing import Call, ModelServer, NoIds, Reply, SameIds, ToolResult
from tests.contract.drivers.test_driver_turns import PIXEL
from tests.contract.drivers.turns import (
    ADD,
    OTHER_MODELS,
    WEATHER,
    WIRES,
    ask,
    calls_in,
    collect,
    end_of,
    go_on,
    say,
    text_in,
)

CALLS = [
    Call("add", {"a": 1, "b": 2}),
    Call("add", {"a": 3}),
    Call("get_weather", {"city": "Rom", "days": 1}),
]
RESULTS = ["3", "3.0", "sunny"]
TOLD = [ToolResult("add", "3"), ToolResult("add", "3.0"), ToolResult("get_weather", "sunny")]
TURNS = {
    "calls": Reply(tool_calls=CALLS),
    "text and calls": Reply(text="Let me see.", tool_calls=CALLS),
    "reasoning and calls": Reply(reasoning="I need tools.", text="Let me see.", tool_calls=CALLS),
    "hidden reasoning": Reply(hidden_reasoning=True, tool_calls=CALLS),
    "both reasonings": Reply(hidden_reasoning=True, reasoning="I need tools.", tool_calls=CALLS),
    "interleaved": Reply(reasoning="I need tools.", tool_calls=CALLS, interleave=True),
    "same ids": Reply(reasoning="I need tools.", tool_calls=CALLS, fault=SameIds()),
    "no ids": Reply(reasoning="I need tools.", tool_calls=CALLS, fault=NoIds()),
}


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS.keys())
async def test_results_go_back_to_their_calls(
    driver: ModelDriver, server: ModelServer, wire: str, turn: Reply
) -> None:
    """L3: each result answers its call, in call order, and signed artefacts come back verbatim."""
    server.script(turn, Reply(text="Done."))
    request = ask(wire, tools=[WEATHER, ADD])
    events = await collect(driver, request)
    assert text_in(await collect(driver, go_on(request, events, RESULTS))) == "Done."
    call = server.calls[-1]
    assert call.tool_results == TOLD
    assert ("assistant", turn.text) in call.messages


async def test_several_steps_and_turns_stay_valid(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: a long conversation with reasoning in every turn is accepted to its end."""
    server.script(
        Reply(reasoning="One.", tool_calls=CALLS[:1]),
        Reply(reasoning="Two.", text="And more.", tool_calls=CALLS[1:]),
        Reply(reasoning="Three.", text="All done."),
        Reply(reasoning="Four.", text="Bye."),
    )
    request = ask(wire, tools=[WEATHER, ADD])
    request = go_on(request, await collect(driver, request), RESULTS[:1])
    request = go_on(request, await collect(driver, request), RESULTS[1:])
    request = say(go_on(request, await collect(driver, request), []), "Thank you.")
    assert text_in(await collect(driver, request)) == "Bye."
    assert server.calls[-1].tool_results == TOLD
    assert server.calls[-1].last_user_text == "Thank you."


async def test_artefacts_come_back_verbatim(driver: ModelDriver, server: ModelServer, wire: str) -> None:
    """L3: encrypted reasoning, signatures and thought signatures are sent back letter by letter."""
    if wire == "openai-chat":
        pytest.skip("Chat Completions has no artefact to send back.")
    server.script(Reply(reasoning="Secret.", tool_calls=CALLS[:1]), Reply(text="Done."))
    request = ask(wire, tools=[ADD])
    events = await collect(driver, request)
    await collect(driver, go_on(request, events, ["3"]))
    assert any(len(text) > 80 and text.startswith("CA") for text in server.calls[-1].texts())


@pytest.mark.parametrize("other", WIRES)
async def test_a_turn_of_another_vendor_is_rebuilt_from_its_message(
    driver: ModelDriver, server: ModelServer, wire: str, other: str
) -> None:
    """L3: a conversation may change its model half-way."""
    from agio.drivers.registry import open_driver

    first = open_driver(other, server.endpoint(other))
    server.script(Reply(reasoning="I need tools.", text="Let me see.", tool_calls=CALLS), Reply(text="Done."))
    request = ask(other, tools=[WEATHER, ADD])
    request = go_on(request, await collect(first, request), RESULTS)
    await first.aclose()
    request = replace(request, model=ask(wire).model)
    assert text_in(await collect(driver, request)) == "Done."
    assert server.calls[-1].tool_results == TOLD


async def test_history_without_vendor_turns_is_accepted(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: messages a client brings have no vendor turn."""
    server.script(Reply(tool_calls=CALLS), Reply(text="Done."))
    request = ask(wire, tools=[WEATHER, ADD])
    request = go_on(request, await collect(driver, request), RESULTS)
    assert text_in(await collect(driver, replace(request, vendor={}))) == "Done."


async def test_ids_a_client_invented_are_made_to_fit(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: ids too long or with letters a vendor refuses do not break the conversation."""
    server.script(Reply(tool_calls=CALLS[:1]), Reply(text="Done."))
    request = ask(wire, tools=[ADD])
    request = go_on(request, await collect(driver, request), ["3"])
    strange = "call of the wild: ünï/" + "x" * 100
    for message in request.messages:
        if isinstance(message, AssistantMessage) and message.tool_calls is not UNSET:
            message.tool_calls[0].id = strange
        elif isinstance(message, ToolMessage):
            message.tool_call_id = strange
    assert text_in(await collect(driver, replace(request, vendor={}))) == "Done."
    assert server.calls[-1].tool_results == TOLD[:1]


async def test_a_tool_may_return_an_image(driver: ModelDriver, server: ModelServer, wire: str) -> None:
    """L3: an image in a result reaches the model in a form the vendor accepts."""
    server.script(Reply(tool_calls=CALLS[:1]), Reply(text="Done."))
    request = ask(wire, tools=[ADD])
    result: list[ContentPart] = [TextPart(text="Look:"), ImagePart(source=DataSource(PIXEL, "image/png"))]
    request = go_on(request, await collect(driver, request), [result])
    assert text_in(await collect(driver, request)) == "Done."
    assert any(PIXEL in text for text in server.calls[-1].texts())
    assert any("Look:" in text for text in server.calls[-1].texts())


async def test_an_empty_result_is_accepted(driver: ModelDriver, server: ModelServer, wire: str) -> None:
    """L3: a tool that returns nothing does not break the conversation."""
    server.script(Reply(tool_calls=CALLS[:2]), Reply(text="Done."))
    request = ask(wire, tools=[ADD])
    request = go_on(request, await collect(driver, request), ["", "3"])
    assert text_in(await collect(driver, request)) == "Done."


@pytest.mark.parametrize("effort", [None, "high"])
async def test_other_generations_of_models_make_the_round_trip(
    driver: ModelDriver, server: ModelServer, wire: str, effort: Literal["high"] | None
) -> None:
    """L3: older and newer models want other settings and get them."""
    reasoning = "" if wire.startswith("openai") else "I need tools."
    server.script(Reply(reasoning=reasoning, text="Let me see.", tool_calls=CALLS), Reply(text="Done."))
    asked = replace(ask(wire, tools=[WEATHER, ADD]), settings=ModelSettings(reasoning_effort=effort))
    request = replace(asked, model=OTHER_MODELS[wire])
    request = go_on(request, await collect(driver, request), RESULTS)
    assert text_in(await collect(driver, request)) == "Done."
    assert server.calls[-1].tool_results == TOLD


async def test_thinking_does_not_refuse_calls_made_without_it(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: a model asked to think may be handed calls that another one made without thinking."""
    server.script(Reply(tool_calls=CALLS), Reply(text="Done."))
    request = ask(wire, tools=[WEATHER, ADD])
    request = go_on(request, await collect(driver, request), RESULTS)
    request = replace(request, vendor={}, settings=ModelSettings(reasoning_effort="high"))
    assert text_in(await collect(driver, request)) == "Done."


async def test_a_turn_cut_while_reasoning_can_be_followed(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: reasoning that nothing followed is not sent back alone."""
    server.script(Reply(reasoning="So much to think abo", stop="length"), Reply(text="Here I am."))
    request = ask(wire)
    events = await collect(driver, request)
    assert end_of(events).stop == "length"
    assert text_in(await collect(driver, say(go_on(request, events, []), "Shorter, please."))) == "Here I am."


async def test_a_turn_that_said_nothing_can_be_followed(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: an empty answer in the history is left out or filled, never refused."""
    server.script(Reply(text=""), Reply(text="Here I am."))
    request = ask(wire)
    request = say(go_on(request, await collect(driver, request), []), "Hello?")
    assert text_in(await collect(driver, request)) == "Here I am."


async def test_broken_arguments_can_be_sent_back(driver: ModelDriver, server: ModelServer, wire: str) -> None:
    """L13: a call whose arguments are no JSON is told to the model and does not break the next request."""
    if wire == "gemini":
        pytest.skip("Gemini's calls are always JSON.")
    server.script(Reply(tool_calls=[Call("add", '{"a": 1, "b"')]), Reply(text="Done."))
    request = ask(wire, tools=[ADD])
    events = await collect(driver, request)
    with pytest.raises(ValueError, match="truncated"):
        calls_in(events)
    turn = [event for event in events if "arguments" not in event.__struct_fields__]
    request = go_on(request, _repaired(turn), ["The arguments are not JSON."])
    calls = next(m for m in request.messages if isinstance(m, AssistantMessage)).tool_calls
    assert calls is not UNSET
    calls[0].function.arguments = '{"a": 1, "b"'
    assert text_in(await collect(driver, request)) == "Done."


def _repaired(events: list[ModelEvent]) -> list[ModelEvent]:
    at = next(at for at, event in enumerate(events) if isinstance(event, ToolCallBegin))
    return [*events[: at + 1], ToolCallDelta(0, "{}"), *events[at + 1 :]]
