"""What every engine does with a run: the same events, limits, questions and results."""

import asyncio

import pytest
from pydantic import BaseModel

from agio import AgentRunConfig, ModelError, ResumeEntry, ScriptedCall, ScriptedTurn
from agio.core.store.repository import RunInput
from agio.protocol.events import AgentEvent, CancelledOutcome, RunFinished, ToolCallResult, ToolCallStart
from agio.protocol.messages import (
    DataSource,
    ImagePart,
    TextPart,
    ToolDeclaration,
    ToolMessage,
    UserMessage,
)
from tests.contract.engine.conftest import Bench
from tests.support.official import OfficialVerifier, check_flow
from tests.support.streams import customs, error_of, types

TWO_SUMS = ScriptedTurn(
    "Adding.", calls=[ScriptedCall("add", {"a": 1, "b": 2}), ScriptedCall("add", {"a": 3, "b": 4})]
)
LIMIT_S = 60.0


class Order(BaseModel):
    """What the user orders."""

    fruit: str
    count: int


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fail(word: str) -> str:
    """Fail."""
    raise ValueError(f"no {word}")


def results(bench: Bench, number: int = -1) -> list[str]:
    """Return the tool results that a request to the model had."""
    if bench.kind == "sdk with its own model":
        assert bench.model is not None
        items = [dict(item) for item in bench.model.inputs[number]]
        return [str(item["output"]) for item in items if item.get("type") == "function_call_output"]
    assert bench.driver is not None
    shown = bench.driver.requests[number].messages
    return [str(m.content).split("\n")[1] for m in shown if isinstance(m, ToolMessage)]


async def test_an_answer_is_streamed_and_counted(bench: Bench, official: OfficialVerifier) -> None:
    """R13: text, steps, metrics and usage; the next message continues the conversation."""
    bench.turns = [ScriptedTurn("Good day."), ScriptedTurn("Yes, again.")]
    stream = await bench.begin("Hello")
    events = [event async for event in stream]
    check_flow(events, official)
    named = [
        "RUN_STARTED",
        "STEP_STARTED",
        "TEXT_MESSAGE_CHUNK",
        "CUSTOM",
        "STEP_FINISHED",
        "CUSTOM",
        "RUN_FINISHED",
    ]
    assert types(events) == named
    result = await stream.result()
    assert (result.status, result.text, result.usage.total) == ("completed", "Good day.", 15)
    assert (await bench.run("Again?")).text == "Yes, again."


async def test_an_image_of_the_user_reaches_the_model_also_later(bench: Bench) -> None:
    """R13: content parts go through whole."""
    bench.turns = [ScriptedTurn("A dot."), ScriptedTurn("Red.")]
    picture = ImagePart(DataSource("aGVsbG8=", "image/png"))
    await bench.run([TextPart(text="What is it?"), picture])
    await bench.run("Which colour?")
    if bench.kind == "sdk with its own model":
        assert bench.model is not None
        said = [dict(item) for item in bench.model.inputs[0]]
        assert "data:image/png;base64,aGVsbG8=" in str(said[0]["content"])
    else:
        assert bench.driver is not None
        message = bench.driver.requests[0].messages[0]
        assert isinstance(message, UserMessage)
        assert message.content[1:] == [picture]


async def test_the_calls_of_a_turn_run_together_and_keep_their_order(
    bench: Bench, official: OfficialVerifier
) -> None:
    """R13: both calls are under way at once; the model gets their results in the order of the calls."""
    second = asyncio.Event()

    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        if a == 1:
            await second.wait()
        second.set()
        return a + b

    bench.functions = [add]
    bench.turns = [TWO_SUMS, ScriptedTurn("3 and 7.")]
    stream = await bench.begin("Add")
    async with asyncio.timeout(LIMIT_S):
        events = [event async for event in stream]
    check_flow(events, official)
    assert [event.content for event in events if isinstance(event, ToolCallResult)] == ["7", "3"]
    assert results(bench) == ["3", "7"]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (ScriptedCall("fail", {"word": "luck"}), "tool_failed"),
        (ScriptedCall("fail", {"wrong": 1}), "bad_arguments"),
        (ScriptedCall("fail", raw="{"), "bad_arguments"),
        (ScriptedCall("unknown", {}), "bad_arguments"),
    ],
)
async def test_a_failed_call_is_told_to_the_model_and_the_run_goes_on(
    bench: Bench, official: OfficialVerifier, call: ScriptedCall, code: str
) -> None:
    """R13: the result has the error's code."""
    bench.functions = [fail]
    bench.turns = [ScriptedTurn(calls=[call]), ScriptedTurn("It failed.")]
    stream = await bench.begin("Try")
    events = [event async for event in stream]
    check_flow(events, official)
    [result] = [event for event in events if isinstance(event, ToolCallResult)]
    assert error_of(result) == code
    assert (await stream.result()).text == "It failed."


@pytest.mark.parametrize("answer", ["approve", "edit", "reject"])
async def test_a_call_that_asks_waits_for_its_answer(bench: Bench, answer: str) -> None:
    """R13: the other call of the turn runs at once; the answered one runs once, or not."""
    sent: list[str] = []

    def send(to: str) -> str:
        """Send a letter."""
        sent.append(to)
        return f"sent to {to}"

    bench.functions, bench.asking = [send, add], ["send"]
    bench.turns = [
        ScriptedTurn(calls=[ScriptedCall("send", {"to": "Ada"}), ScriptedCall("add", {"a": 1, "b": 2})]),
        ScriptedTurn("Done."),
    ]
    asked = await bench.run("Write")
    assert asked.status == "interrupted"
    [question] = asked.interrupts
    assert sent == []
    assert [m.content for m in asked.messages if isinstance(m, ToolMessage)] == ["3"]
    payload = {
        "approve": {"approved": True},
        "edit": {"approved": True, "editedArgs": {"to": "Eve"}},
        "reject": {"approved": False, "reason": "no stamps"},
    }[answer]
    done = await bench.run(resume=[ResumeEntry(question.id, "resolved", payload)])
    assert (done.status, done.text) == ("completed", "Done.")
    assert sent == {"approve": ["Ada"], "edit": ["Eve"], "reject": []}[answer]


async def test_a_question_that_nobody_answers_is_closed_by_the_next_message(bench: Bench) -> None:
    """R13: its call gets a result, and the model goes on with the new message."""
    bench.functions, bench.asking = [add], ["add"]
    bench.turns = [ScriptedTurn(calls=[ScriptedCall("add", {"a": 1, "b": 2})]), ScriptedTurn("As you wish.")]
    assert (await bench.run("Add")).status == "interrupted"
    done = await bench.run("Never mind")
    assert (done.status, done.text) == ("completed", "As you wish.")


async def test_a_tool_of_the_client_ends_the_run_and_its_result_begins_the_next(bench: Bench) -> None:
    """R13: a run that calls a tool of the page ends with the call pending."""
    bench.client = [ToolDeclaration("where", "Where the user is.", {"type": "object", "properties": {}})]
    bench.turns = [ScriptedTurn(calls=[ScriptedCall("where")]), ScriptedTurn("In Vienna.")]
    first = await bench.run("Where am I?")
    assert first.status == "completed"
    [call_id] = first.pending_tool_call_ids
    result = ToolMessage(id="res_1", content="Vienna", tool_call_id=call_id)
    assert (await bench.run(results=[result])).text == "In Vienna."
    assert results(bench) == ["Vienna"]


async def test_a_run_is_cancelled_while_a_tool_runs(bench: Bench, official: OfficialVerifier) -> None:
    """R13: the tool is cancelled, the log ends with the outcome cancelled, and nothing comes after."""
    stopped: list[bool] = []
    started = asyncio.Event()

    async def wait(word: str) -> str:
        """Wait."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)
        return word

    bench.functions = [wait]
    bench.config = AgentRunConfig(cancel_grace_s=0.01)
    bench.turns = [ScriptedTurn(calls=[ScriptedCall("wait", {"word": "x"})])]
    stream = await bench.begin("Wait")
    events: list[AgentEvent] = []
    async with asyncio.timeout(LIMIT_S):
        async for event in stream:
            events.append(event)
            if isinstance(event, ToolCallStart):
                asyncio.get_running_loop().create_task(_cancel_when(started, stream.cancel))
    check_flow(events, official)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == CancelledOutcome()
    assert stopped == [True]


async def _cancel_when(started: asyncio.Event, cancel: object) -> None:
    await started.wait()
    assert callable(cancel)
    cancel()


async def test_a_run_is_cancelled_while_the_model_answers(bench: Bench, official: OfficialVerifier) -> None:
    """R13: the outcome is cancelled."""
    bench.turns = [ScriptedTurn("Well", waits=asyncio.Event())]
    stream = await bench.begin("Tell")
    events: list[AgentEvent] = []
    async with asyncio.timeout(LIMIT_S):
        async for event in stream:
            events.append(event)
            if event.type == "STEP_STARTED":
                stream.cancel()
    check_flow(events, official)
    assert (await stream.result()).status == "cancelled"


async def test_a_run_takes_no_more_steps_than_it_may(bench: Bench, official: OfficialVerifier) -> None:
    """R13: max_steps holds."""
    bench.functions = [add]
    bench.config = AgentRunConfig(max_steps=2)
    bench.turns = [ScriptedTurn(calls=[ScriptedCall("add", {"a": 1, "b": 1})])] * 3
    stream = await bench.begin("Add for ever")
    events = [event async for event in stream]
    check_flow(events, official)
    result = await stream.result()
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "step_limit")


async def test_an_answer_has_the_type_that_the_agent_says(bench: Bench) -> None:
    """R13: structured output is the run's result."""

    bench.output = Order
    bench.turns = [ScriptedTurn('{"fruit": "apple", "count": 2}')]
    result = await bench.run("Two apples")
    assert result.result == {"fruit": "apple", "count": 2}


async def test_a_turn_that_breaks_is_taken_again(bench: Bench, official: OfficialVerifier) -> None:
    """R13: a passing failure of the model is retried, and said."""
    bench.config = AgentRunConfig(backoff_s=0.001)
    bench.turns = [ScriptedTurn("Good day.")]
    bench.failures = [ModelError("stream_broken", "The stream broke.", retryable=True)]
    stream = await bench.begin("Hello")
    events = [event async for event in stream]
    check_flow(events, official)
    assert [error["code"] for error in customs(events, "agio.error")] == ["stream_broken"]
    assert (await stream.result()).text == "Good day."


async def test_a_message_joins_a_run_that_is_under_way(bench: Bench) -> None:
    """R13: what the user says meanwhile is answered in the same run."""
    bench.functions = [add]
    bench.turns = [TWO_SUMS, ScriptedTurn("3 and 7."), ScriptedTurn("Gladly.")]
    stream = await bench.begin("Add")
    stream.give([RunInput(1, UserMessage(id="usr_more", content="Thanks!"))])
    if bench.kind == "loop":
        bench.turns = [TWO_SUMS, ScriptedTurn("Gladly.")]
    result = await stream.result()
    assert (result.status, result.text) == ("completed", "Gladly.")
    assert sum(isinstance(message, UserMessage) for message in result.messages) == 2
