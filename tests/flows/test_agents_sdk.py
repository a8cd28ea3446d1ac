"""What only agents of the OpenAI Agents SDK do: its handoffs, sub-agents, guardrails and models, on our log."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from agents import (
    Agent,
    ApplyPatchTool,
    ComputerTool,
    GuardrailFunctionOutput,
    LocalShellTool,
    ModelSettings,
    RunContextWrapper,
    ShellTool,
    ToolGuardrailFunctionOutput,
    WebSearchTool,
    function_tool,
    handoff,
    input_guardrail,
    output_guardrail,
    tool_output_guardrail,
)
from agents.extensions.handoff_filters import remove_all_tools
from agents.mcp import MCPServerStreamableHttp
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from agents.models.openai_responses import OpenAIResponsesModel
from agents.testing import ScriptedModel, assistant_message, function_call
from openai import AsyncOpenAI

from agio import AgentRunConfig, Custom, ModelError, ResumeEntry, ScriptedCall, ScriptedTurn, UserError
from agio.core.engine.history import size_of
from agio.core.model import ModelRequest
from agio.core.text import estimate_tokens
from agio.db.repository import Repository, open_store
from agio.drivers.scripted import Script
from agio.engines.openai_agents.agent import SdkAgent
from agio.engines.openai_agents.tools import RunFacts
from agio.protocol.events import (
    GUARDRAIL,
    HANDOFF,
    SubagentError,
    SubagentFinished,
    SubagentStarted,
    TextMessageChunk,
    ToolCallResult,
    ToolCallStart,
)
from agio.protocol.messages import AssistantMessage, ImagePart, ToolMessage
from agio.testing import Call, HttpStatus, ModelServer, Reply
from tests.support.mcp_server import fixture_server
from tests.support.official import OfficialVerifier, check_flow
from tests.support.ports import free_port
from tests.support.sdk import MODEL, SdkScene
from tests.support.streams import customs, error_of, untimed


@pytest.fixture
async def store() -> AsyncIterator[Repository]:
    opened = await open_store(":memory:")
    yield opened
    await opened.close()


@function_tool
def look_up(order: str) -> str:
    """Look up an order."""
    return f"{order} cost 2 EUR"


async def test_a_handoff_goes_on_with_the_other_agent_and_the_session_remembers(
    store: Repository, official: OfficialVerifier
) -> None:
    """R13: SDK handoffs are handoffs of ours; a filter of the SDK's decides what the other model sees."""
    told: list[str] = []
    billing = Agent[Any]("billing", instructions="Handle money.", model=MODEL, tools=[look_up])
    over = handoff(billing, on_handoff=lambda _: told.append("on_handoff"), input_filter=remove_all_tools)
    desk = Agent[Any]("desk", instructions="Greet.", model=MODEL, handoffs=[over])
    scene = SdkScene(
        store,
        desk,
        {
            "desk": [ScriptedTurn("One moment.", calls=[ScriptedCall("transfer_to_billing")])],
            "billing": [ScriptedTurn("You get 2 EUR."), ScriptedTurn("You are welcome.")],
        },
    )
    events = await scene.events("Where is my money?")
    check_flow(events, official)
    [value] = customs(events, HANDOFF)
    assert (value["from"], value["to"]) == ("desk", "billing")
    assert (await scene.run("Thanks!")).text == "You are welcome."
    request = scene.drivers["billing"].requests[0]
    assert request.system.startswith("Handle money.")
    assert [tool.name for tool in request.tools] == ["look_up"]
    assert not any(isinstance(m, ToolMessage) for m in request.messages)
    assert told == ["on_handoff"]


def by_answers(*turns: ScriptedTurn, before: int = 0) -> Script:
    """Say the turn that the conversation has come to; `before` answers of others come first."""

    def script(request: ModelRequest) -> ScriptedTurn:
        return turns[sum(isinstance(message, AssistantMessage) for message in request.messages) - before]

    return script


async def test_a_team_ends_the_same_wherever_its_run_stopped(
    store: Repository, official: OfficialVerifier
) -> None:
    """R13: handoffs and agents as tools are handoffs and lanes of ours; what was done is not done again."""
    done: list[str] = []

    @function_tool
    def note(text: str) -> str:
        """Note something."""
        done.append(text)
        return f"noted {text}"

    clerk = Agent[Any]("clerk", instructions="Look up.", model=MODEL, tools=[note])
    billing = Agent[Any](
        "billing", instructions="Money.", model=MODEL, tools=[clerk.as_tool("ask_clerk", "Ask.")]
    )
    desk = Agent[Any]("desk", instructions="Greet.", model=MODEL, tools=[note], handoffs=[billing])
    for each in (clerk, desk):
        SdkAgent.of(each).tools[0].effect = "idempotent"
    over = ScriptedTurn(calls=[ScriptedCall("note", {"text": "a"}), ScriptedCall("transfer_to_billing")])
    ask = ScriptedTurn("I ask.", calls=[ScriptedCall("ask_clerk", {"input": "A-7"})])
    noted = ScriptedTurn(calls=[ScriptedCall("note", {"text": "b"})])
    scripts = {
        "desk": by_answers(over),
        "billing": by_answers(ask, ScriptedTurn("2 EUR."), before=1),
        "clerk": by_answers(noted, ScriptedTurn("It was 2 EUR.")),
    }
    scene = SdkScene(store, desk, scripts)
    stream = await scene.begin("What did A-7 cost?")
    events = [event async for event in stream]
    check_flow(events, official)
    [value] = customs(events, HANDOFF)
    assert (value["from"], value["to"]) == ("desk", "billing")
    [begun] = [event for event in events if isinstance(event, SubagentStarted)]
    [ended] = [event for event in events if isinstance(event, SubagentFinished)]
    assert (begun.name, ended.result) == ("clerk", "It was 2 EUR.")
    whole = await stream.result()
    assert (whole.text, done) == ("2 EUR.", ["a", "b"])
    turns = (await store.get_log(stream.run_id)).turns
    for stop in range(1, len(events)):
        other = await scene.stopped(stream.run_id, events[:stop], turns)
        resumed = await other.again(stream.run_id)
        more = [event async for event in resumed]
        check_flow([*events[:stop], *more], official)
        result = await resumed.result()
        assert untimed(result.messages) == untimed(whole.messages), f"stopped after event {stop}"
        await other.store.close()


async def test_a_sub_agent_asks_a_person_and_goes_on_with_the_answer(
    store: Repository, official: OfficialVerifier
) -> None:
    """R13: the question of a lane ends the run; the answer run replays both agents to it."""
    sent: list[str] = []

    @function_tool(needs_approval=True)
    def send(to: str) -> str:
        """Send a letter."""
        sent.append(to)
        return f"sent to {to}"

    clerk = Agent[Any]("clerk", instructions="Write.", model=MODEL, tools=[send])
    desk = Agent[Any]("desk", model=MODEL, tools=[clerk.as_tool("ask_clerk", "Ask."), look_up])
    both = [ScriptedCall("ask_clerk", {"input": "Write to Ada"}), ScriptedCall("look_up", {"order": "A-7"})]
    scene = SdkScene(
        store,
        desk,
        {
            "desk": by_answers(ScriptedTurn(calls=both), ScriptedTurn("Written.")),
            "clerk": by_answers(
                ScriptedTurn(calls=[ScriptedCall("send", {"to": "Ada"})]), ScriptedTurn("Sent.")
            ),
        },
    )
    stream = await scene.begin("Write to Ada")
    events = [event async for event in stream]
    check_flow(events, official)
    asked = await stream.result()
    assert (asked.status, sent) == ("interrupted", [])
    [question] = asked.interrupts
    assert question.subagent_run_id
    again = await scene.begin(resume=[ResumeEntry(question.id, "resolved", {"approved": True})])
    more = [event async for event in again]
    check_flow(more, official, known_calls=[e.tool_call_id for e in events if isinstance(e, ToolCallStart)])
    assert ((await again.result()).text, sent) == ("Written.", ["Ada"])


@pytest.mark.parametrize("approved", [True, False])
async def test_a_sub_agent_that_needs_approval_begins_after_it(
    store: Repository, official: OfficialVerifier, approved: bool
) -> None:
    """R13: `as_tool(needs_approval=True)`."""
    clerk = Agent[Any]("clerk", model=MODEL)
    desk = Agent[Any]("desk", model=MODEL, tools=[clerk.as_tool("ask_clerk", "Ask.", needs_approval=True)])
    call = ScriptedTurn(calls=[ScriptedCall("ask_clerk", {"input": "A-7"})])
    scene = SdkScene(
        store, desk, {"desk": by_answers(call, ScriptedTurn("So.")), "clerk": [ScriptedTurn("2 EUR.")]}
    )
    asked = await scene.run("What did A-7 cost?")
    [question] = asked.interrupts
    again = await scene.begin(resume=[ResumeEntry(question.id, "resolved", {"approved": approved})])
    events = [event async for event in again]
    check_flow(events, official, known_calls=[str(question.tool_call_id)])
    assert any(isinstance(event, SubagentStarted) for event in events) == approved
    assert (await again.result()).text == "So."


async def test_a_sub_agent_that_fails_does_not_fail_its_caller(
    store: Repository, official: OfficialVerifier
) -> None:
    """R13: the SDK's words go to the model, the code to the log."""
    clerk = Agent[Any]("clerk", model=MODEL)
    desk = Agent[Any]("desk", model=MODEL, tools=[clerk.as_tool("ask_clerk", "Ask.")])
    failing = ScriptedTurn("Well", fails=ModelError("bad_request", "The service refused."))
    call = ScriptedTurn(calls=[ScriptedCall("ask_clerk", {"input": "A-7"})])
    scene = SdkScene(store, desk, {"desk": [call, ScriptedTurn("Sorry.")], "clerk": [failing]})
    events = await scene.events("What did A-7 cost?")
    check_flow(events, official)
    [failed] = [event for event in events if isinstance(event, SubagentError)]
    [result] = [event for event in events if isinstance(event, ToolCallResult)]
    assert (failed.code, error_of(result)) == ("bad_request", "bad_request")


async def test_a_sub_agent_that_takes_too_long_is_stopped_and_its_caller_goes_on(
    store: Repository, official: OfficialVerifier
) -> None:
    """R13: each agent has its own time."""
    clerk = Agent[Any]("clerk", model=MODEL)
    SdkAgent(clerk, config=AgentRunConfig(run_timeout_s=0.05))
    desk = Agent[Any]("desk", model=MODEL, tools=[clerk.as_tool("ask_clerk", "Ask.")])
    call = ScriptedTurn(calls=[ScriptedCall("ask_clerk", {"input": "A-7"})])
    slow = ScriptedTurn("Well", waits=asyncio.Event())
    scene = SdkScene(store, desk, {"desk": [call, ScriptedTurn("Sorry.")], "clerk": [slow]})
    events = await scene.events("What did A-7 cost?")
    check_flow(events, official)
    [result] = [event for event in events if isinstance(event, ToolCallResult)]
    assert error_of(result) == "time_budget"


@pytest.mark.parametrize("place", ["input", "output"])
async def test_a_guardrail_that_trips_ends_the_run_and_one_that_passes_is_not_asked_again(
    store: Repository, official: OfficialVerifier, place: str
) -> None:
    """R13: input and output guardrails of the SDK, recorded as `agio.guardrail`."""
    checked: list[str] = []

    @input_guardrail(name="polite")
    async def polite(context: RunContextWrapper[Any], agent: Any, given: Any) -> GuardrailFunctionOutput:
        checked.append("input")
        return GuardrailFunctionOutput(None, place == "input" and len(checked) == 1)

    @output_guardrail(name="short")
    async def short(context: RunContextWrapper[Any], agent: Any, output: Any) -> GuardrailFunctionOutput:
        checked.append("output")
        return GuardrailFunctionOutput(None, place == "output")

    desk = Agent[Any]("desk", model=MODEL, input_guardrails=[polite], output_guardrails=[short])
    scene = SdkScene(store, desk, {"desk": by_answers(ScriptedTurn("Good day."))})
    stream = await scene.begin("Hello")
    events = [event async for event in stream]
    check_flow(events, official)
    result = await stream.result()
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "guardrail_tripped")
    decided = customs(events, GUARDRAIL)
    assert decided[-1] == {
        "check": {"input": "polite", "output": "short"}[place],
        "place": place,
        "action": "blocked",
    }
    if place == "output":
        passed = next(
            at for at, event in enumerate(events) if isinstance(event, Custom) and event.name == GUARDRAIL
        )
        other = await scene.stopped(stream.run_id, events[: passed + 1], [])
        checked.clear()
        await (await other.again(stream.run_id)).result()
        await other.store.close()
        assert checked == ["output"]


async def test_guardrails_of_a_tool_stand_before_the_log(store: Repository) -> None:
    """R13: law 13 holds: what a tool guardrail rejects is in no event."""

    @tool_output_guardrail
    def no_secrets(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.reject_content("Nothing to see.")

    @function_tool(tool_output_guardrails=[no_secrets])
    def secret() -> str:
        """Tell."""
        return "hunter2"

    desk = Agent[Any]("desk", model=MODEL, tools=[secret])
    scene = SdkScene(
        store, desk, {"desk": [ScriptedTurn(calls=[ScriptedCall("secret")]), ScriptedTurn("No.")]}
    )
    stream = await scene.begin("Tell")
    events = [event async for event in stream]
    [result] = [event for event in events if isinstance(event, ToolCallResult)]
    assert (result.content, error_of(result)) == ("Nothing to see.", "guardrail_tripped")
    assert b"hunter2" not in (await store.get_log(stream.run_id)).payload


async def test_a_tool_without_words_for_its_failure_ends_the_run(store: Repository) -> None:
    """R13: `failure_error_function=None` means in a served run what it means in the SDK."""

    @function_tool(failure_error_function=None)
    def fail() -> str:
        """Fail."""
        raise ValueError("no luck")

    desk = Agent[Any]("desk", model=MODEL, tools=[fail])
    result = await SdkScene(store, desk, {"desk": [ScriptedTurn(calls=[ScriptedCall("fail")])]}).run("Try")
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "tool_raised")


async def test_agents_that_hand_over_for_ever_are_stopped(store: Repository) -> None:
    """R13: with the limit of a run, since each agent begins to count its steps anew."""
    one, other = Agent[Any]("one", model=MODEL), Agent[Any]("other", model=MODEL)
    one.handoffs, other.handoffs = [other], [one]
    scripts = {
        name: by_answers(*[ScriptedTurn(calls=[ScriptedCall(f"transfer_to_{to}")])] * 40)
        for name, to in (("one", "other"), ("other", "one"))
    }
    result = await SdkScene(store, one, scripts).run("Go")
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "handoff_limit")


async def test_what_a_tool_returns_can_be_the_answer(store: Repository, official: OfficialVerifier) -> None:
    """R13: `stop_on_first_tool` ends the run without another model call, and its answer is text."""
    desk = Agent[Any]("desk", model=MODEL, tools=[look_up], tool_use_behavior="stop_on_first_tool")
    call = ScriptedTurn(calls=[ScriptedCall("look_up", {"order": "A-7"})])
    scene = SdkScene(store, desk, {"desk": [call, ScriptedTurn("Welcome.")]})
    stream = await scene.begin("What did A-7 cost?")
    check_flow([event async for event in stream], official)
    assert (await stream.result()).text == "A-7 cost 2 EUR"
    assert (await scene.run("Thanks")).text == "Welcome."


async def test_a_run_that_fills_its_prompt_summarises_what_it_read_wherever_it_stopped(
    store: Repository, official: OfficialVerifier
) -> None:
    """R13: older messages of the Runner's give way to a summary, also within the exchange."""

    @function_tool
    def page(number: int) -> str:
        """Read a page."""
        return f"page {number}: " + "many words " * 30

    def script(request: ModelRequest) -> ScriptedTurn:
        if request.system.startswith("You write the summary"):
            return ScriptedTurn("Pages were read.")
        read = [int(found) for found in re.findall(r"page (\d+):", str(request.messages))]
        number = max(read, default=0) + 1
        return (
            ScriptedTurn(calls=[ScriptedCall("page", {"number": number})])
            if number < 9
            else ScriptedTurn("All.")
        )

    config = AgentRunConfig(context_tokens=600, max_tool_result_bytes=2000)
    desk = SdkAgent(Agent[Any]("desk", instructions="Read.", model=MODEL, tools=[page]), config=config)
    desk.tools[0].effect = "read"
    scene = SdkScene(store, desk, {"desk": script})
    stream = await scene.begin("Read all pages")
    events = [event async for event in stream]
    check_flow(events, official)
    whole = await stream.result()
    assert whole.text == "All."
    assert customs(events, "agio.compacted")
    for request in scene.drivers["desk"].requests:
        assert estimate_tokens(request.system) + sum(map(size_of, request.messages)) <= 600
    turns = (await store.get_log(stream.run_id)).turns
    for stop in range(1, len(events), 3):
        other = await scene.stopped(stream.run_id, events[:stop], turns)
        result = await (await other.again(stream.run_id)).result()
        assert (result.text, result.error) == ("All.", None), f"stopped after event {stop}"
        await other.store.close()


async def test_a_run_whose_program_asks_something_else_fails(store: Repository) -> None:
    """R13: instructions that change between two replays are `replay_diverged`, and the message names them."""
    words = ["Be brief.", "Be verbose."]
    desk = Agent[Any]("desk", model=MODEL, instructions=lambda context, agent: words[0], tools=[look_up])
    call = ScriptedTurn(calls=[ScriptedCall("look_up", {"order": "A-7"})])
    scene = SdkScene(store, desk, {"desk": by_answers(call, ScriptedTurn("2 EUR."))})
    stream = await scene.begin("What did A-7 cost?")
    events = [event async for event in stream]
    turns = (await store.get_log(stream.run_id)).turns
    at = next(at for at, event in enumerate(events) if isinstance(event, ToolCallResult))
    other = await scene.stopped(stream.run_id, events[:at], turns)
    words.pop(0)
    result = await (await other.again(stream.run_id)).result()
    await other.store.close()
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "replay_diverged")
    assert "its instructions changed" in result.error.message


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"tools": [WebSearchTool()]}, "WebSearchTool"),
        ({"tools": [LocalShellTool(executor=lambda _: "")]}, "LocalShellTool"),
        ({"tools": [ShellTool(executor=lambda _: "")]}, "ShellTool"),
        ({"tools": [ApplyPatchTool(editor=cast(Any, None))]}, "ApplyPatchTool"),
        ({"tools": [ComputerTool(cast(Any, None))]}, "ComputerTool"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"model_settings": ModelSettings(extra_args={"conversation": "c"})}, "conversation"),
    ],
)
def test_what_cannot_be_recorded_is_refused_by_name(given: dict[str, Any], named: str) -> None:
    """R13: shell, computer, patch, hosted tools and conversations kept by OpenAI."""
    with pytest.raises(UserError, match=named) as refused:
        SdkAgent(Agent[Any]("desk", **given))
    assert refused.value.code == "sdk_unsupported"


async def test_the_programs_own_model_streams_and_gets_its_items_back(
    store: Repository, official: OfficialVerifier
) -> None:
    """R13: a Model of the SDK keeps its own call ids and items, in this run and the next."""
    model = ScriptedModel(
        [
            [
                assistant_message("One moment."),
                function_call("look_up", {"order": "A-7"}, call_id="vendor_1"),
            ],
            [assistant_message("2 EUR.")],
            [assistant_message("Welcome.")],
        ]
    )
    facts: list[RunFacts] = []

    @function_tool
    def look_up(context: RunContextWrapper[RunFacts], order: str) -> str:
        """Look up an order."""
        facts.append(context.context)
        return f"{order} cost 2 EUR"

    scene = SdkScene(store, Agent[Any]("desk", model=model, tools=[look_up]), {})
    events = await scene.events("What did A-7 cost?")
    check_flow(events, official)
    assert [event.content for event in events if isinstance(event, ToolCallResult)] == ["A-7 cost 2 EUR"]
    assert (await scene.run("Thanks")).text == "Welcome."
    outputs = [item for item in model.calls[-1].input if item.get("type") == "function_call_output"]
    assert outputs == [{"type": "function_call_output", "call_id": "vendor_1", "output": "A-7 cost 2 EUR"}]
    assert (facts[0].tenant, facts[0].session) == ("default", "thr_1")


async def test_tools_of_its_mcp_servers_are_found_recorded_and_called_once(
    store: Repository, official: OfficialVerifier
) -> None:
    """R13: text and images of an MCP server's tool; a run that stopped after the result does not call it again."""
    async with fixture_server() as fixture:
        server = MCPServerStreamableHttp({"url": fixture.url}, name="shop", cache_tools_list=True)
        desk = Agent[Any]("desk", model=MODEL, mcp_servers=[server])
        calls = [ScriptedCall("echo", {"text": "hi"}), ScriptedCall("draw", {})]
        script = by_answers(ScriptedTurn(calls=calls), ScriptedTurn("Seen."))
        scene = SdkScene(store, desk, {"desk": script})
        stream = await scene.begin("Draw")
        events = [event async for event in stream]
        check_flow(events, official)
        echoed, drawn = [event for event in events if isinstance(event, ToolCallResult)]
        assert "hi" in str(echoed.content)
        assert any(isinstance(part, ImagePart) for part in drawn.content)
        shown = scene.drivers["desk"].requests[1].messages[-1]
        assert isinstance(shown, ToolMessage)
        assert any(isinstance(part, ImagePart) for part in shown.content)
        turns = (await store.get_log(stream.run_id)).turns
        other = await scene.stopped(stream.run_id, events[: events.index(drawn) + 1], turns)
        before = list(fixture.calls)
        assert (await (await other.again(stream.run_id)).result()).text == "Seen."
        assert fixture.calls == before
        await other.store.close()
        await scene.agent.aclose()


async def test_an_mcp_server_that_is_away_fails_the_run_and_says_which(store: Repository) -> None:
    """R13: the message names the server."""
    server = MCPServerStreamableHttp({"url": f"http://127.0.0.1:{free_port()}/mcp"}, name="shop")
    desk = Agent[Any]("desk", model=MODEL, mcp_servers=[server])
    result = await SdkScene(store, desk, {}).run("Draw")
    assert result.error is not None
    assert (result.error.code, "MCP server shop" in result.error.message) == ("mcp_unreachable", True)


async def test_code_of_the_agent_that_fails_ends_the_run(store: Repository) -> None:
    """R13: instructions that raise."""

    def instructions(context: Any, agent: Any) -> str:
        raise KeyError("no words")

    desk = Agent[Any]("desk", model=MODEL, instructions=instructions)
    result = await SdkScene(store, desk, {}).run("Hello")
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "agent_failed")


@pytest.mark.parametrize("wire", ["openai", "openai-chat"])
async def test_the_sdks_own_clients_stream_through_the_log(
    store: Repository, official: OfficialVerifier, wire: str
) -> None:
    """R13: its models for both APIs of OpenAI: a refusal of the service is retried, deltas are streamed."""
    async with ModelServer() as server:
        server.script(
            Reply(fault=HttpStatus(503, retry_after_s=0)),
            Reply("One moment.", tool_calls=[Call("look_up", {"order": "A-7"})]),
            Reply("It cost 2 EUR."),
        )
        client = AsyncOpenAI(base_url=server.base_url(wire), api_key="test-key", max_retries=0)
        kind = OpenAIResponsesModel if wire == "openai" else OpenAIChatCompletionsModel
        desk = Agent[Any]("desk", model=kind("test", client), tools=[look_up])
        scene = SdkScene(store, desk, {})
        events = await scene.events("What did A-7 cost?")
        check_flow(events, official)
        assert [error["code"] for error in customs(events, "agio.error")] == ["model_overloaded"]
        assert sum(isinstance(event, TextMessageChunk) for event in events) > 2
        assert [event.content for event in events if isinstance(event, ToolCallResult)] == ["A-7 cost 2 EUR"]
        assert "A-7 cost 2 EUR" in str(server.calls[-1].body)
        await client.close()
