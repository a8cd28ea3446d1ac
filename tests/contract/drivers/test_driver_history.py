"""Histories as clients really bring them: cut, doubled, unanswered, with instructions in the middle."""

import asyncio

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agio.core.model import ModelDriver
from agio.drivers.endpoint import Endpoint
from agio.drivers.registry import open_driver
from agio.protocol.messages import (
    ActivityMessage,
    AssistantMessage,
    DataSource,
    DeveloperMessage,
    DocumentPart,
    FunctionCall,
    Message,
    ReasoningMessage,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agio.testing import ModelServer, Reply, ToolResult
from tests.contract.drivers.turns import ADD, ask, collect, end_of, fail, text_in

CALLS = [ToolCall("c1", FunctionCall("add", '{"a":1}')), ToolCall("c2", FunctionCall("add", '{"a":2}'))]
HELLO = UserMessage(id="u1", content="Hello.")
CALLING = AssistantMessage(id="a1", tool_calls=CALLS)
FIRST = ToolMessage(id="t1", content="1", tool_call_id="c1")
SECOND = ToolMessage(id="t2", content="2", tool_call_id="c2")
LAST = UserMessage(id="u2", content="Go on.")
HISTORIES: dict[str, list[Message]] = {
    "two user messages": [HELLO, LAST],
    "begins with the assistant": [AssistantMessage(id="a1", content="As I said."), LAST],
    "two assistant messages": [
        HELLO,
        AssistantMessage(id="a1", content="One."),
        AssistantMessage(id="a2", content="Two."),
        LAST,
    ],
    "instructions in the middle": [
        HELLO,
        SystemMessage(id="s1", content="Be brief."),
        DeveloperMessage(id="d1", content="Be kind."),
        LAST,
    ],
    "an answer that was never given": [HELLO, CALLING, FIRST, LAST],
    "no answer at all": [HELLO, CALLING, LAST],
    "a result without its call": [HELLO, FIRST, LAST],
    "results in another order": [HELLO, CALLING, SECOND, FIRST, LAST],
    "a result after a message": [HELLO, CALLING, FIRST, LAST, SECOND],
    "blank text": [HELLO, AssistantMessage(id="a1", content=" \n"), UserMessage(id="u2", content="  "), LAST],
    "what only people see": [
        HELLO,
        ReasoningMessage(id="r1", content="Hm."),
        ActivityMessage(id="x1", activity_type="plan", content={"step": 1}),
        LAST,
    ],
    "an error result": [
        HELLO,
        CALLING,
        FIRST,
        ToolMessage(id="t2", content="", tool_call_id="c2", error="It broke."),
        LAST,
    ],
    "the same call ids in two turns": [
        HELLO,
        CALLING,
        FIRST,
        SECOND,
        AssistantMessage(id="a2", tool_calls=CALLS),
        FIRST,
        SECOND,
        LAST,
    ],
}


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES.keys())
async def test_any_history_becomes_a_valid_request(
    driver: ModelDriver, server: ModelServer, wire: str, history: list[Message]
) -> None:
    """L3: what a client or a trimmed log brings is put into the vendor's order, and the user is heard."""
    server.script(Reply(text="Here I am."))
    request = replace(ask(wire, tools=[ADD]), messages=history)
    assert text_in(await collect(driver, request)) == "Here I am."
    assert any("Go on." in text for text in server.calls[0].texts())


async def test_results_out_of_order_reach_their_calls(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: a result belongs to its call, not to its place."""
    request = replace(ask(wire, tools=[ADD]), messages=[HELLO, CALLING, SECOND, FIRST])
    server.script(Reply(text="Done."))
    await collect(driver, request)
    assert server.calls[0].tool_results == [ToolResult("add", "1"), ToolResult("add", "2")]


async def test_a_request_leaves_the_messages_as_they_were(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: a driver reads the history and changes nothing in it."""
    history: list[Message] = [HELLO, CALLING, FIRST, SECOND, LAST]
    before = repr(history)
    await collect(driver, replace(ask(wire, tools=[ADD]), messages=history))
    assert repr(history) == before
    assert CALLING.content is UNSET


async def test_documents_go_in(driver: ModelDriver, server: ModelServer, wire: str) -> None:
    """L3: a document reaches the model, as a file or as its text."""
    pdf = DocumentPart(source=DataSource("JVBERi0xLjQK", "application/pdf"))
    note = DocumentPart(source=DataSource("SGVsbG8gZnJvbSBhIGZpbGU=", "text/plain"))
    await collect(driver, ask(wire, [TextPart(text="Read this."), pdf, note]))
    texts = server.calls[0].texts()
    assert any("JVBERi0xLjQK" in text for text in texts)
    assert any("Hello from a file" in text or "SGVsbG8gZnJvbSBhIGZpbGU=" in text for text in texts)


async def test_one_driver_serves_many_turns_at_once(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L3: turns that run side by side do not mix."""
    turns = await asyncio.gather(*(collect(driver, ask(wire, f"This is turn {n}.")) for n in range(8)))
    assert [text_in(events) for events in turns] == [f"This is turn {n}." for n in range(8)]
    assert all(end_of(events).stop == "end" for events in turns)


async def test_headers_of_the_endpoint_are_sent(server: ModelServer, wire: str) -> None:
    """R12: a gateway's own headers go along, and a slash too many does no harm."""
    url = server.base_url(wire) + "/"
    driver = open_driver(wire, Endpoint(base_url=url, api_key="test-key", headers={"X-Team": "blue"}))
    await collect(driver, ask(wire))
    await driver.aclose()
    assert server.calls[0].headers["x-team"] == "blue"


async def test_a_service_of_ones_own_needs_no_key(wire: str) -> None:
    """R12: with a base URL, a key is not asked for and none is invented."""
    async with ModelServer(api_key=None) as server:
        driver = open_driver(wire, server.endpoint(wire))
        await collect(driver, ask(wire))
        await driver.aclose()
        names = server.calls[0].headers.keys()
    assert not names & {"authorization", "x-api-key", "x-goog-api-key"}


async def test_a_path_nobody_serves_is_told(wire: str) -> None:
    """R12: a base URL that points elsewhere says so."""
    async with ModelServer() as server:
        driver = open_driver(wire, Endpoint(base_url=f"{server.url}/elsewhere", api_key="test-key"))
        error = await fail(driver, ask(wire))
        await driver.aclose()
    assert (error.code, error.retryable) == ("model_not_found", False)
