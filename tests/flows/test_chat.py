"""A message, its events, its messages, its log."""

import dataclasses

import msgspec
import pydantic
import pytest

from agio import (
    Agent,
    AgentRunConfig,
    Price,
    ScriptedCall,
    ScriptedDriver,
    ScriptedTurn,
    UserError,
    client_tool,
    tool,
)
from agio.core.model import Usage
from agio.errors import AgioError
from agio.protocol.events import (
    METRICS,
    NOTICE,
    RunFinished,
    SuccessOutcome,
    ToolCallResult,
    ToolCallStart,
    seq_of,
)
from agio.protocol.messages import AssistantMessage, ToolMessage, UserMessage
from tests.flows.scene import add, lines, play, scripted
from tests.support.official import OfficialVerifier
from tests.support.streams import customs, types


async def test_a_message_becomes_a_stream_that_begins_and_ends(official: OfficialVerifier) -> None:
    """R8: RUN_STARTED, text with its messageId on every chunk, RUN_FINISHED."""
    agent, _ = scripted(ScriptedTurn("Hello there, friend."))
    async with agent:
        events = await play(agent.arun_stream("Hi"), official)
    assert types(events) == [
        "RUN_STARTED",
        "STEP_STARTED",
        "TEXT_MESSAGE_CHUNK",
        "CUSTOM",
        "STEP_FINISHED",
        "CUSTOM",
        "RUN_FINISHED",
    ]
    assert [seq_of(event) for event in events] == list(range(1, len(events) + 1))


async def test_reasoning_and_tools_come_in_their_order(official: OfficialVerifier) -> None:
    """R8: reasoning, then the call with its arguments, then its result, then the answer."""
    agent, _ = scripted(
        ScriptedTurn("Let me add.", "Two numbers.", [ScriptedCall("add", {"a": 2, "b": 3})]),
        ScriptedTurn("Five."),
    )
    async with agent:
        run = agent.arun_stream("2 + 3?")
        events = await play(run, official)
        result = await run.result()
    assert types(events)[2:8] == [
        "REASONING_MESSAGE_CHUNK",
        "TEXT_MESSAGE_CHUNK",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
    ]
    assert result.text == "Five."
    assert [type(message).__name__ for message in result.messages] == [
        "UserMessage",
        "ReasoningMessage",
        "AssistantMessage",
        "ToolMessage",
        "AssistantMessage",
    ]


async def test_parallel_calls_run_together_and_their_results_go_back_in_call_order(
    official: OfficialVerifier,
) -> None:
    """L2: the second call finishes first; the model still sees the first call's result first."""
    import asyncio

    second_done = asyncio.Event()

    @tool
    async def slow() -> str:
        """Wait for the other one."""
        await second_done.wait()
        return "slow"

    @tool
    async def quick() -> str:
        """Let the other one go."""
        second_done.set()
        return "quick"

    agent, driver = scripted(
        ScriptedTurn(calls=[ScriptedCall("slow"), ScriptedCall("quick")]),
        ScriptedTurn("Done."),
        tools=[slow, quick],
    )
    async with agent:
        events = await play(agent.arun_stream("go"), official)
    order = [event.content for event in events if isinstance(event, ToolCallResult)]
    assert order == ["quick", "slow"]
    told = [message.content for message in driver.requests[1].messages if isinstance(message, ToolMessage)]
    assert ["slow" in str(told[0]), "quick" in str(told[1])] == [True, True]


async def test_a_thread_goes_on_with_what_was_said(official: OfficialVerifier) -> None:
    """L10: the second run of a thread sends the first one's messages, tool results and vendor items."""
    agent, driver = scripted(
        ScriptedTurn(calls=[ScriptedCall("add", {"a": 1, "b": 1})]),
        ScriptedTurn("Two."),
        ScriptedTurn("Yes."),
    )
    async with agent:
        first = agent.arun_stream("1 + 1?")
        events = await play(first, official)
        calls = [event.tool_call_id for event in events if isinstance(event, ToolCallStart)]
        await play(agent.arun_stream("Sure?", thread_id=first.thread_id), official, calls)
    texts = [message.content for message in driver.requests[2].messages if isinstance(message, UserMessage)]
    assert texts == ["1 + 1?", "Sure?"]
    answers = [message for message in driver.requests[2].messages if isinstance(message, AssistantMessage)]
    assert [answer.id in driver.requests[2].vendor for answer in answers] == [True, True]


async def test_replay_is_byte_identical_to_the_stream(official: OfficialVerifier) -> None:
    """L10: the stored log is, to the byte, what was streamed; the history decodes to the same events."""
    agent, _ = scripted(
        ScriptedTurn("Ünïcode ✓ \n\t", calls=[ScriptedCall("add", {"a": 1, "b": 2})]), ScriptedTurn("3")
    )
    async with agent:
        run = agent.arun_stream("Hi")
        events = await play(run, official)
        log = await (await agent.repository()).get_log(run.run_id)
        assert log.payload == lines(events)
        assert lines(await agent.get_run_history(run.run_id)) == lines(events)


async def test_runs_are_listed_newest_first() -> None:
    """L10: list_runs shows this agent's runs, with title and status, page by page."""
    agent, _ = scripted(ScriptedTurn("1"), ScriptedTurn("2"), ScriptedTurn("3"))
    async with agent:
        for question in ("first  question", "second", "third"):
            await agent.arun(question)
        runs = await agent.list_runs(limit=2)
        rest = await agent.list_runs(before=runs[-1].run_id)
    assert [run.title for run in [*runs, *rest]] == ["third", "second", "first question"]
    assert {run.status for run in runs} == {"completed"}


async def test_arun_returns_the_text_of_the_answer() -> None:
    """L7: five lines, no server."""
    agent, _ = scripted(
        ScriptedTurn("Let me see.", calls=[ScriptedCall("add", {"a": 1, "b": 2})]), ScriptedTurn("It is 3.")
    )
    async with agent:
        assert await agent.arun("1 + 2?") == "It is 3."


async def test_arun_raises_what_made_the_run_fail() -> None:
    """L13: the error keeps its code."""
    agent, _ = scripted(config=AgentRunConfig(max_steps=3))
    async with agent:
        with pytest.raises(AgioError) as caught:
            await agent.arun("Hi")
    assert caught.value.code == "script_ended"


async def test_a_goal_is_offered_as_a_tool_and_meeting_it_ends_the_run(official: OfficialVerifier) -> None:
    """C6: complete_goal ends the run with goal_met, though the model might have gone on."""
    driver = ScriptedDriver([ScriptedTurn(calls=[ScriptedCall("complete_goal", {"summary": "All done."})])])
    async with Agent("g", model=driver, goal="Finish.") as agent:
        events = await play(agent.arun_stream("Go"), official)
    assert "complete_goal" in [spec.name for spec in driver.requests[0].tools]
    assert isinstance(events[-1], RunFinished)
    assert events[-1].result == {"goal_met": True, "summary": "All done."}


async def test_a_goal_that_is_not_met_is_said_to_be_not_met(official: OfficialVerifier) -> None:
    """C6: an answer without complete_goal leaves goal_met false."""
    async with Agent("g", model=ScriptedDriver([ScriptedTurn("I give up.")]), goal="Finish.") as agent:
        events = await play(agent.arun_stream("Go"), official)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].result == {"goal_met": False}


@dataclasses.dataclass
class CityData:
    name: str
    people: int


class CityStruct(msgspec.Struct):
    name: str
    people: int


class CityModel(pydantic.BaseModel):
    name: str
    people: int


CITY_SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["name", "people"],
}


@pytest.mark.parametrize(
    "kind", [CityData, CityStruct, CityModel, CITY_SCHEMA], ids=["dataclass", "struct", "pydantic", "schema"]
)
async def test_an_output_type_gives_a_validated_result(kind: object, official: OfficialVerifier) -> None:
    """C6: a wrong answer is corrected, the right one is a value of the type and the run's result."""
    driver = ScriptedDriver(
        [ScriptedTurn('{"name": "Graz"}'), ScriptedTurn('{"name": "Graz", "people": 300000}')]
    )
    async with Agent("o", model=driver, output_type=kind) as agent:
        run = agent.arun_stream("Graz?")
        events = await play(run, official)
        result = await run.result()
    assert isinstance(events[-1], RunFinished)
    assert events[-1].result == {"name": "Graz", "people": 300000}
    if isinstance(kind, type):
        assert isinstance(result.output, kind)
    output = driver.requests[0].output
    assert output is not None
    assert output.schema["required"] == ["name", "people"]
    told = driver.requests[1].messages[-1]
    assert isinstance(told, UserMessage)
    assert "people" in str(told.content)


async def test_an_output_that_never_fits_fails_the_run_after_bounded_corrections() -> None:
    """L13: `output_invalid` after max_output_corrections."""
    driver = ScriptedDriver([ScriptedTurn("no json")] * 5)
    async with Agent("o", model=driver, output_type=CityData) as agent:
        result = await agent.arun_stream("Graz?").result()
    assert result.error is not None
    assert result.error.code == "output_invalid"
    assert len(driver.requests) == 3


async def test_a_client_side_tool_ends_the_run_and_its_result_goes_on(official: OfficialVerifier) -> None:
    """R8: pendingToolCallIds names the call; the next run begins with its result."""
    pick = client_tool("pick_color", "Let the user pick.", {"type": "object", "properties": {}})
    agent, driver = scripted(
        ScriptedTurn(calls=[ScriptedCall("pick_color"), ScriptedCall("add", {"a": 1, "b": 1})]),
        ScriptedTurn("Blue it is."),
        tools=[pick, add],
    )
    async with agent:
        run = agent.arun_stream("Color?")
        events = await play(run, official)
        result = await run.result()
        assert isinstance(events[-1], RunFinished)
        assert events[-1].outcome == SuccessOutcome(result.pending_tool_call_ids)
        assert len(result.pending_tool_call_ids) == 1
        then = agent.arun_stream(
            thread_id=run.thread_id, tool_results={result.pending_tool_call_ids[0]: "blue"}
        )
        await play(then, official, result.pending_tool_call_ids)
        assert (await then.result()).text == "Blue it is."
    told = [
        str(message.content) for message in driver.requests[1].messages if isinstance(message, ToolMessage)
    ]
    assert ["blue" in told[0], "2" in told[1]] == [True, True]


async def test_a_message_instead_of_a_client_side_result_settles_the_call(official: OfficialVerifier) -> None:
    """L13: the conversation goes on; the call is told as not run."""
    pick = client_tool("pick_color", "Let the user pick.", {"type": "object", "properties": {}})
    agent, driver = scripted(
        ScriptedTurn(calls=[ScriptedCall("pick_color")]), ScriptedTurn("Fine."), tools=[pick]
    )
    async with agent:
        run = agent.arun_stream("Color?")
        await play(run, official)
        pending = (await run.result()).pending_tool_call_ids
        then = agent.arun_stream("Never mind.", thread_id=run.thread_id)
        events = await play(then, official, pending)
    assert types(events)[:3] == ["RUN_STARTED", "TOOL_CALL_RESULT", "STEP_STARTED"]
    kinds = [type(message).__name__ for message in driver.requests[1].messages]
    assert kinds == ["UserMessage", "AssistantMessage", "ToolMessage", "UserMessage"]


async def test_metrics_tell_tokens_times_and_cost_of_each_step_and_of_the_run() -> None:
    """L12: usage on RUN_FINISHED, agio.metrics per step and per run, cost from the prices given."""
    config = AgentRunConfig(prices={"scripted:scripted": Price(input=2.0, output=10.0, cached_input=1.0)})
    agent, _ = scripted(
        ScriptedTurn(calls=[ScriptedCall("add", {"a": 1, "b": 2})], usage=Usage(100, 10, 40, 4)),
        ScriptedTurn("3", usage=Usage(200, 20)),
        config=config,
    )
    async with agent:
        events = [event async for event in agent.arun_stream("Hi")]
    first, second, total = customs(events, METRICS)
    assert (first["scope"], first["step"], first["input_tokens"], first["cached_input_tokens"]) == (
        "step",
        1,
        100,
        40,
    )
    assert first["cost"] == pytest.approx((60 * 2 + 40 * 1 + 10 * 10) / 1e6)
    assert second["output_tokens"] == 20
    assert (total["scope"], total["steps"], total["input_tokens"], total["output_tokens"]) == (
        "run",
        2,
        300,
        30,
    )
    assert total["cost"] == pytest.approx((60 * 2 + 40 + 100 + 400 + 200) / 1e6)
    assert {"model_ms", "tool_ms", "first_token_ms", "reasoning_tokens"} <= first.keys()
    assert isinstance(events[-1], RunFinished)
    usage = events[-1].usage
    assert isinstance(usage, list)
    assert (usage[0].input_tokens, usage[0].total_tokens, usage[0].cached_input_tokens) == (300, 330, 40)


async def test_a_vendor_that_does_not_tell_its_usage_is_not_taken_to_have_used_nothing() -> None:
    """L12: no tokens and no cost, rather than none of them; also not when another call has told."""
    config = AgentRunConfig(prices={"scripted:scripted": Price(input=2.0, output=10.0)})
    agent, _ = scripted(
        ScriptedTurn("3", usage=Usage()),
        ScriptedTurn(calls=[ScriptedCall("add", {"a": 1, "b": 2})], usage=Usage()),
        ScriptedTurn("3", usage=Usage(10, 5)),
        config=config,
    )
    async with agent:
        silent = [event async for event in agent.arun_stream("Hi")]
        half = [event async for event in agent.arun_stream("Hi")]
    for told in customs(silent, METRICS):
        assert told["usage_partial"] is True
        assert not {"input_tokens", "output_tokens", "cost"} & told.keys()
    total = customs(half, METRICS)[-1]
    assert (total["input_tokens"], total["output_tokens"], total["usage_partial"]) == (10, 5, True)


async def test_an_answer_that_was_cut_or_refused_says_so() -> None:
    """L13: `length` and `refusal` are notices, not failures."""
    agent, _ = scripted(
        ScriptedTurn("Once upon a", stop="length"), ScriptedTurn("I will not.", stop="refusal")
    )
    async with agent:
        for code in ("stopped_length", "stopped_refusal"):
            run = agent.arun_stream("Tell")
            events = [event async for event in run]
            assert [notice["code"] for notice in customs(events, NOTICE)] == [code]
            assert (await run.result()).status == "completed"


async def test_a_tool_reports_progress_as_events(official: OfficialVerifier) -> None:
    """R8: progress() of a sync tool in its thread becomes agio.tool_progress."""
    from agio import ToolContext
    from agio.protocol.events import TOOL_PROGRESS

    @tool
    def work(context: ToolContext) -> str:
        """Work."""
        context.progress("half", 0.5)
        return "done"

    agent, _ = scripted(ScriptedTurn(calls=[ScriptedCall("work")]), ScriptedTurn("ok"), tools=[work])
    async with agent:
        events = await play(agent.arun_stream("go"), official)
    (progress,) = customs(events, TOOL_PROGRESS)
    assert (progress["message"], progress["fraction"]) == ("half", 0.5)


async def test_an_empty_message_is_refused_before_a_run_begins() -> None:
    """L13: nothing is stored."""
    agent, _ = scripted(ScriptedTurn("never"))
    async with agent:
        with pytest.raises(UserError) as caught:
            await agent.arun("  ")
        assert caught.value.code == "empty_message"
        assert await agent.list_runs() == []


async def test_hooks_are_called_around_a_run() -> None:
    """L4: run_started before the first model call, run_ended once the end is in the log."""
    from agio import RunHooks, RunResult
    from agio.core.run.spec import RunRequest

    seen: list[str] = []

    class Watcher(RunHooks):
        async def run_started(self, request: RunRequest) -> None:
            seen.append(f"started {request.session_id} after {len(driver.requests)} calls")

        async def run_ended(self, result: RunResult) -> None:
            stored = await (await agent.repository()).get_run(result.run_id)
            seen.append(f"{result.status} {stored.status}")

    driver = ScriptedDriver([ScriptedTurn("Hi.")])
    async with Agent("h", model=driver, hooks=Watcher()) as agent:
        run = agent.arun_stream("Hello")
        await run.result()
    assert seen == [f"started {run.thread_id} after 0 calls", "completed completed"]


async def test_a_hook_that_fails_at_the_end_does_not_change_how_the_run_ended() -> None:
    """L4: the run has ended; the failure is logged."""
    from agio import RunHooks, RunResult

    class Clumsy(RunHooks):
        async def run_ended(self, result: RunResult) -> None:
            raise ZeroDivisionError

    async with Agent("h", model=ScriptedDriver([ScriptedTurn("Hi.")]), hooks=Clumsy()) as agent:
        assert await agent.arun("Hello") == "Hi."


async def test_defaults_of_an_output_type_are_part_of_the_result() -> None:
    """C6: what the model left out is in the value and in RUN_FINISHED alike."""

    @dataclasses.dataclass
    class Place:
        name: str
        tags: list[CityData] = dataclasses.field(default_factory=list[CityData])
        country: str = "AT"

    driver = ScriptedDriver([ScriptedTurn('{"name": "Graz", "tags": [{"name": "x", "people": 1}]}')])
    async with Agent("o", model=driver, output_type=Place) as agent:
        result = await agent.arun_stream("Graz?").result()
    assert result.result == {"name": "Graz", "country": "AT", "tags": [{"name": "x", "people": 1}]}


async def test_an_agent_can_be_used_again_after_it_was_closed() -> None:
    """L7: a driver that was given stays the caller's."""
    agent, _ = scripted(ScriptedTurn("One."), ScriptedTurn("Two."))
    assert await agent.arun("1") == "One."
    await agent.aclose()
    assert await agent.arun("2") == "Two."
    await agent.aclose()


def test_runs_work_on_uvloop_and_on_one_loop_after_another() -> None:
    """L3: the connections of a driver belong to the loop that made them, whichever kind it is."""
    import asyncio

    import uvloop

    from agio.testing import ModelServer

    async def ask(agent: Agent) -> str:
        return await agent.arun("echo")

    async def on_a_server(wire: str) -> str:
        async with ModelServer() as server:
            url = server.base_url(wire)
            async with Agent("u", model=f"{wire}:m", base_url=url, api_key="test-key") as agent:
                return await ask(agent) + await ask(agent)

    for wire in ("openai-chat", "anthropic"):
        assert uvloop.run(on_a_server(wire)) == asyncio.run(on_a_server(wire)) != ""
