"""The same flows against a model over real HTTP, in every wire format."""

import dataclasses

import pytest

from agio import Agent, tool
from agio.core.engine.context import Snippet
from agio.protocol.events import RunFinished, ToolCallResult
from agio.protocol.messages import DataSource, ImagePart, TextPart
from agio.testing import ModelServer, Reply
from agio.testing.faults import SameIds
from agio.testing.script import Call
from tests.flows.scene import add, play
from tests.support.official import OfficialVerifier

WIRES = ["openai-chat", "openai", "anthropic", "gemini"]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_reasoning_parallel_tools_and_the_answer(wire: str, official: OfficialVerifier) -> None:
    """L3: a whole run, its reasoning sent back as the vendor wants it, its results in order."""
    async with ModelServer() as server:
        server.script(
            Reply(
                "Let me add.",
                reasoning="Two sums are needed.",
                tool_calls=[Call("add", {"a": 1, "b": 2}), Call("add", {"a": 3, "b": 4})],
                interleave=True,
            ),
            Reply("3 and 7."),
            Reply("You are welcome."),
        )
        async with Agent(
            "w", model=f"{wire}:m", tools=[add], base_url=server.base_url(wire), api_key="test-key"
        ) as agent:
            run = agent.arun_stream("1+2 and 3+4?")
            events = await play(run, official)
            result = await run.result()
            results = [event.content for event in events if isinstance(event, ToolCallResult)]
            assert sorted(map(str, results)) == ["3", "7"]
            assert result.text == "3 and 7."
            assert result.usage.input > 0
            then = agent.arun_stream("Thanks", thread_id=run.thread_id)
            await play(then, official)
            assert (await then.result()).text == "You are welcome."
        assert server.problems == []


async def test_the_same_tool_call_id_twice_are_two_calls(wire: str, official: OfficialVerifier) -> None:
    """L3: the vendor's ids are never ours: both calls run, both results go back."""
    async with ModelServer() as server:
        server.script(
            Reply(tool_calls=[Call("add", {"a": 1, "b": 2}), Call("add", {"a": 3, "b": 4})], fault=SameIds()),
            Reply("Both."),
        )
        async with Agent(
            "w", model=f"{wire}:m", tools=[add], base_url=server.base_url(wire), api_key="test-key"
        ) as agent:
            run = agent.arun_stream("go")
            events = await play(run, official)
            results = [event.content for event in events if isinstance(event, ToolCallResult)]
            assert sorted(map(str, results)) == ["3", "7"]
            assert (await run.result()).text == "Both."
        assert server.problems == []


async def test_a_thread_may_change_its_model(wire: str, official: OfficialVerifier) -> None:
    """L3: what one vendor said with reasoning and tools is understood by every other."""
    from agio.db.repository import open_store

    store = await open_store(":memory:")
    async with ModelServer() as server:
        server.script(
            Reply("Adding.", reasoning="Hm.", tool_calls=[Call("add", {"a": 1, "b": 2})]), Reply("Three.")
        )
        async with Agent(
            "w",
            model=f"{wire}:m",
            tools=[add],
            base_url=server.base_url(wire),
            api_key="test-key",
            store=store,
        ) as agent:
            run = agent.arun_stream("1+2?")
            await play(run, official)
        for other in WIRES:
            server.script(Reply(f"Yes, says {other}."))
            async with Agent(
                "w",
                model=f"{other}:m",
                tools=[add],
                base_url=server.base_url(other),
                api_key="test-key",
                store=store,
            ) as agent:
                text = await agent.arun("Sure?", thread_id=run.thread_id)
                assert text == f"Yes, says {other}."
        assert server.problems == []
    await store.close()


async def test_images_go_in_and_come_back_from_tools(wire: str, official: OfficialVerifier) -> None:
    """L3: an image in a message and one in a tool's result reach the model."""
    import base64

    from agio import Image

    @tool
    def camera() -> Image:
        """Take a picture."""
        return Image(base64.b64decode(PIXEL))

    async with ModelServer() as server:
        server.script(Reply(tool_calls=[Call("camera", {})]), Reply("Two pixels."))
        async with Agent(
            "w", model=f"{wire}:m", tools=[camera], base_url=server.base_url(wire), api_key="test-key"
        ) as agent:
            run = agent.arun_stream([TextPart("Compare"), ImagePart(DataSource(PIXEL, "image/png"))])
            await play(run, official)
            assert (await run.result()).text == "Two pixels."
        assert server.problems == []
        last = server.calls[-1]
        assert sum(PIXEL in text for text in last.texts()) == 2


@dataclasses.dataclass
class City:
    name: str
    people: int


async def test_structured_output_uses_the_providers_mode(wire: str, official: OfficialVerifier) -> None:
    """L3: the schema is in the request where the vendor wants it; the result is validated."""
    async with ModelServer() as server:
        server.script(Reply('{"name": "Graz", "people": 300000}'))
        async with Agent(
            "w", model=f"{wire}:m", output_type=City, base_url=server.base_url(wire), api_key="test-key"
        ) as agent:
            run = agent.arun_stream("Graz?")
            events = await play(run, official)
            assert (await run.result()).output == City("Graz", 300000)
        assert isinstance(events[-1], RunFinished)
        assert server.problems == []


async def test_any_base_url_works_without_a_key_of_the_environment(
    wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R12: a key from the environment is never sent to an address that did not come from there."""
    for name in ("OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "operators-own-key")
    async with ModelServer(api_key=None) as server:
        async with Agent("w", model=f"{wire}:m", base_url=server.base_url(wire)) as agent:
            assert await agent.arun("echo me") != ""
        assert "operators-own-key" not in str(server.calls[0].headers)


async def test_the_environments_base_url_and_key_go_together(
    wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R12: every provider's base URL can be set from outside."""
    async with ModelServer(api_key="env-key") as server:
        prefix = {"openai-chat": "OPENAI", "openai": "OPENAI", "anthropic": "ANTHROPIC", "gemini": "GEMINI"}[
            wire
        ]
        monkeypatch.setenv(f"{prefix}_API_KEY", "env-key")
        monkeypatch.setenv(f"{prefix}_BASE_URL", server.base_url(wire))
        async with Agent("w", model=f"{wire}:m") as agent:
            assert await agent.arun("hello") != ""


class Shelf:
    """A source with one of everything."""

    async def page_context(self) -> list[Snippet]:
        return [Snippet("page", "The page shows invoice 7.")]

    async def memories(self, query: str, limit: int) -> list[Snippet]:
        return [Snippet("likes", f"Likes tea. Asked: {query}")]

    async def documents(self, query: str, limit: int) -> list[Snippet]:
        return [Snippet("manual", "Press the button.")]


async def test_surroundings_reach_the_model_in_blocks(wire: str) -> None:
    """L5: page context, memories and documents stand before the question."""
    async with ModelServer() as server:
        async with Agent(
            "w", model=f"{wire}:m", source=Shelf(), base_url=server.base_url(wire), api_key="test-key"
        ) as agent:
            await agent.arun("What now?")
        text = "\n".join(server.calls[0].texts())
    order = [text.index(part) for part in ("invoice 7", "Likes tea. Asked: What now?", "Press the button")]
    assert order == sorted(order)
