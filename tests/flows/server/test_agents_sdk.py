"""Agents of the OpenAI Agents SDK in a module, served like any other, over every link."""

import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import cast

import pytest

from agio.errors import UserError
from agio.protocol.codec import decode_lines
from agio.protocol.events import AgentEvent, InterruptOutcome, RunFinished
from agio.testing import Call, Reply
from agio.worker.app import load_app
from tests.flows.server.home import Home, open_home
from tests.flows.server.talk import open_talk
from tests.support.served import LinkKind
from tests.support.streams import customs

MODULE = '''
from agents import Agent, RunContextWrapper, function_tool

from agio.engines.openai_agents.tools import RunFacts


@function_tool
def multiply(context: RunContextWrapper[RunFacts], a: int, b: int) -> str:
    """Multiply two numbers."""
    return f"{a * b} for {context.context.user}"


@function_tool(needs_approval=True)
def send(to: str) -> str:
    """Send a letter."""
    return f"sent to {to}"


@function_tool
def spare() -> str:
    """A tool of no agent."""
    return "spare"


billing = Agent("sdk billing", instructions="Handle money.", model="openai-chat:test")
desk = Agent(
    "sdk desk",
    instructions="Greet.",
    model="openai-chat:test",
    tools=[multiply, send],
    handoffs=[billing],
)
'''


@pytest.fixture
async def sdk(database: str | Path, link: LinkKind, tmp_path: Path) -> AsyncGenerator[Home]:
    """A server with the module."""
    path = tmp_path / "my_agents.py"
    path.write_text(MODULE)
    app = load_app(str(path))
    async with open_home(database, link, app=app) as home:
        yield home


async def agent_id(home: Home, name: str) -> str:
    """Return the id of an agent that the module defines."""
    found = cast("list[dict[str, str]]", (await home.ask("GET", f"/api/agents?search={name}"))["items"])
    return next(each["id"] for each in found if each["name"] == name)


async def test_an_sdk_agent_is_listed_runs_and_asks(sdk: Home) -> None:
    """R13: it is in the list with its tools and handoffs; a run calls its tools, asks a person, and hands over."""
    desk = await agent_id(sdk, "sdk desk")
    listed = await sdk.ask("GET", f"/api/agents/{desk}")
    assert (listed["source"], listed["system_prompt"]) == ("code", "Greet.")
    tools = [tool["name"] for tool in cast("list[dict[str, str]]", listed["tools"])]
    assert tools == ["multiply", "send"]
    sdk.model.script(
        Reply(tool_calls=[Call("multiply", {"a": 6, "b": 7}), Call("send", {"to": "Ada"})]),
        Reply(tool_calls=[Call("transfer_to_sdk_billing", {})]),
        Reply("42, and sent."),
    )
    talk = await open_talk("sse", sdk, desk)
    events: list[AgentEvent] = decode_lines(b"".join(await talk.say("6 times 7, and write to Ada")))
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert isinstance(last.outcome, InterruptOutcome)
    [question] = last.outcome.interrupts
    answer = {"interrupt_id": question.id, "approved": True}
    more: list[AgentEvent] = decode_lines(b"".join(await talk.answer([answer])))
    assert [value["to"] for value in customs(more, "agio.handoff")] == ["sdk billing"]
    asked = sdk.model.calls[-1]
    assert asked.system.startswith("Handle money.")
    assert "42 for local" in str(asked.body["messages"])


async def test_the_one_shot_routes_drive_sdk_agents_and_their_tools(sdk: Home) -> None:
    """R13, S9: `/api/agent/run` and `/api/sdk/session/*`, with other instructions too, and a tool of no agent."""
    call = Reply(tool_calls=[Call("multiply", {"a": 2, "b": 3})])
    sdk.model.script(call, Reply("Six."))
    done = await sdk.ask("POST", "/api/agent/run", {"agent": "sdk desk", "input": "2 * 3"})
    assert done["output"] == [{"type": "text", "text": "Six."}]
    [made] = cast("list[dict[str, object]]", done["tool_calls"])
    assert made["result"] == "6 for local"
    sdk.model.script(call, Reply("Six."), call, Reply("Sechs."))
    await sdk.ask("POST", "/api/sdk/session/create", {"session_id": "talk", "agent_name": "sdk desk"})
    said = {"session_id": "talk", "user_input": "2 * 3"}
    first = await sdk.ask("POST", "/api/sdk/session/message", said)
    assert (first["final_output"], first["tool_calls"]) == ("Six.", ["multiply"])
    [detail] = cast("list[dict[str, object]]", first["tool_call_details"])
    assert detail["result"] == "6 for local"
    changed = {**said, "agent": {"instructions": "Speak German."}}
    assert (await sdk.ask("POST", "/api/sdk/session/message", changed))["final_output"] == "Sechs."
    assert sdk.model.calls[-1].system.startswith("Speak German.")
    own = await sdk.create_agent(tools=[{"name": "spare"}])
    sdk.model.script(Reply(tool_calls=[Call("spare", {})]), Reply("Done."))
    done = await sdk.ask("POST", "/api/agent/run", {"agent": own, "input": "x"})
    [made] = cast("list[dict[str, object]]", done["tool_calls"])
    assert made["result"] == "spare"


async def test_an_agent_of_the_team_cannot_use_an_sdk_agent_and_says_so(sdk: Home) -> None:
    """R13: the loop would leave out its guardrails and hooks."""
    over = [{"agent": await agent_id(sdk, "sdk billing")}]
    own = await sdk.create_agent(handoffs=over)
    sdk.model.script(Reply("By myself."))
    talk = await open_talk("sse", sdk, own)
    events: list[AgentEvent] = decode_lines(b"".join(await talk.say("Hello")))
    assert [value["code"] for value in customs(events, "agio.notice")] == ["agent_unavailable"]
    assert sdk.model.calls[-1].tool_names == []


def test_a_module_without_the_sdk_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R13: the extra is missing."""
    path = tmp_path / "needs_sdk.py"
    path.write_text("import agents\n")
    monkeypatch.setitem(sys.modules, "agents", None)
    with pytest.raises(UserError, match="its extra openai-agents") as refused:
        load_app(str(path))
    assert refused.value.code == "missing_package"
