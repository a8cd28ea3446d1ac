"""The official client's `HttpAgent`, over real HTTP: what an application built on it sees."""

import asyncio
import json
from typing import cast

import pytest

from agio.testing import Call, Reply
from tests.flows.server.home import Home
from tests.flows.server.tools import paid
from tests.support.node import NODE, NODE_FOLDER
from tests.support.served import KEY

Shown = dict[str, list[object]]


@pytest.fixture
def link() -> str:
    """The client knows nothing of links: one is enough here."""
    return "direct"


async def play(home: Home, agent_id: str, scene: str) -> Shown:
    """Let the client play a scene; return what it has in the end."""
    assert NODE is not None
    process = await asyncio.create_subprocess_exec(
        NODE,
        str(NODE_FOLDER / "http_agent.mjs"),
        f"{home.url}/api/agents/{agent_id}/ag-ui",
        KEY,
        scene,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(90):
        out, _ = await process.communicate()
    told = cast(Shown, json.loads(out))
    assert told["warnings"] == []
    return told


def roles(told: Shown) -> list[str]:
    return [str(cast("dict[str, object]", message)["role"]) for message in told["messages"]]


def last_text(told: Shown) -> str:
    return str(cast("dict[str, object]", told["messages"][-1]).get("content"))


async def test_a_chat_with_a_tool_and_a_second_message(home: Home) -> None:
    """B8: a stock client chats; its history is ours, not what it sends."""
    home.model.script(
        Reply(tool_calls=[Call("calculator", {"expression": "2 + 3"})]), Reply("Five."), Reply("Still five.")
    )
    told = await play(home, await home.create_agent(tools=["calculator"]), "chat")
    assert told["errors"] == []
    assert told["outcomes"] == ["success", "success"]
    assert roles(told) == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert last_text(told) == "Still five."
    assert [role for role, _ in home.model.calls[-1].messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert home.model.problems == []


async def test_a_tool_of_the_clients_own(home: Home) -> None:
    """B8: the client runs its own tool and sends the result, which starts the next run."""
    home.model.script(Reply(tool_calls=[Call("pick_colour", {"of": "sky"})]), Reply("Blue it is."))
    told = await play(home, await home.create_agent(), "client tool")
    assert told["errors"] == []
    assert roles(told) == ["user", "assistant", "tool", "assistant"]
    assert last_text(told) == "Blue it is."


async def test_an_approval_with_changed_arguments(home: Home) -> None:
    """B7: the client is asked, answers with other arguments, and the call runs with those."""
    home.model.script(Reply(tool_calls=[Call("pay", {"amount": 5, "to": "Ann"})]), Reply("Paid."))
    before = len(paid)
    told = await play(home, await home.create_agent(tools=["pay"]), "approval")
    assert told["errors"] == []
    assert told["outcomes"] == ["interrupt", "success"]
    assert len(told["questions"]) == 1
    assert "paid 7 to Bob" in home.model.calls[-1].tool_results[-1].text
    assert len(paid) == before + 1


async def test_a_cancel_by_leaving(home: Home) -> None:
    """L14: a client that says so cancels its run by closing the connection."""
    home.model.script(Reply("word " * 200, chunk_chars=5, gate=asyncio.Event()))
    told = await play(home, await home.create_agent(), "cancel")
    await home.model.wait_closed_by_client()
    runs: list[dict[str, object]] = []
    async with asyncio.timeout(60):
        while not runs or runs[0]["status"] == "running":
            runs = cast("list[dict[str, object]]", (await home.ask("GET", "/api/runs"))["items"])
            await asyncio.sleep(0.02)
    assert runs[0]["status"] == "cancelled"
    assert "RUN_STARTED" in told["events"]


async def test_leaving_and_rejoining_a_run(home: Home) -> None:
    """B8: the same runId again brings the run's whole text, and no second run."""
    text = "Word by word it comes. " * 6
    home.model.script(Reply(text, chunk_chars=6, pace_s=0.02))
    told = await play(home, await home.create_agent(), "rejoin")
    assert told["errors"] == []
    assert last_text(told) == text
    assert roles(told) == ["user", "assistant"]
    assert len(home.model.calls) == 1


async def test_a_session_that_was_branched_by_another_client(home: Home) -> None:
    """B8, B3: the next run begins with a snapshot of its path, which replaces the branch that the client shows."""
    home.model.script(Reply("Seven."), Reply("Eight."), Reply("It was eight."))
    told = await play(home, await home.create_agent(), "branch")
    assert told["errors"] == []
    texts = [cast("dict[str, object]", message)["content"] for message in told["messages"]]
    assert texts == ["Pick a number.", "Eight.", "Which one was it?", "It was eight."]
    assert home.model.calls[-1].messages == [
        ("user", "Pick a number."),
        ("assistant", "Eight."),
        ("user", "Which one was it?"),
    ]
    assert home.model.problems == []
