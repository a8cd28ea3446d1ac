"""A tool that asks a person first: the run ends with the question, the answer starts the next one."""

from typing import Literal

import pytest

from agio import (
    Agent,
    AgentRunConfig,
    ResumeEntry,
    ScriptedCall,
    ScriptedDriver,
    ScriptedTurn,
    UserError,
    tool,
)
from agio.core.engine.runner import RunResult
from agio.protocol.events import InterruptOutcome, RunFinished
from agio.protocol.messages import Json, ToolMessage
from tests.flows.scene import play
from tests.support.official import OfficialVerifier
from tests.support.streams import types

SENT: list[str] = []


@tool(approval="ask")
async def send(to: str) -> str:
    """Send a letter."""
    SENT.append(to)
    return f"sent to {to}"


@pytest.fixture(autouse=True)
def _nothing_sent() -> None:
    SENT.clear()


def asking(config: AgentRunConfig | None = None) -> tuple[Agent, ScriptedDriver]:
    driver = ScriptedDriver(
        [ScriptedTurn(calls=[ScriptedCall("send", {"to": "Ada"})]), ScriptedTurn("Done.")]
    )
    return Agent("a", model=driver, tools=[send], config=config), driver


async def ask(agent: Agent, official: OfficialVerifier) -> RunResult:
    run = agent.arun_stream("Write to Ada")
    events = await play(run, official)
    assert isinstance(events[-1], RunFinished)
    assert isinstance(events[-1].outcome, InterruptOutcome)
    assert SENT == []
    return await run.result()


async def answer(agent: Agent, asked: RunResult, payload: Json, official: OfficialVerifier) -> RunResult:
    entry = ResumeEntry(asked.interrupts[0].id, "resolved", payload)
    run = agent.arun_stream(thread_id=asked.thread_id, resume=[entry])
    calls = [str(interrupt.tool_call_id) for interrupt in asked.interrupts]
    await play(run, official, calls)
    return await run.result()


def told(result: RunResult, driver: ScriptedDriver) -> str:
    (message,) = [m for m in driver.requests[-1].messages if isinstance(m, ToolMessage)]
    return str(message.content)


async def test_an_approved_call_runs_in_the_next_run(official: OfficialVerifier) -> None:
    """L2: the question names the call; yes runs it with the arguments that were shown."""
    agent, driver = asking()
    async with agent:
        asked = await ask(agent, official)
        assert asked.status == "interrupted"
        assert asked.interrupts[0].reason == "tool_call"
        done = await answer(agent, asked, {"approved": True}, official)
    assert (SENT, done.text) == (["Ada"], "Done.")
    assert "sent to Ada" in told(done, driver)


async def test_a_rejected_call_does_not_run_and_the_model_learns_why(official: OfficialVerifier) -> None:
    """L2: the reason reaches the model."""
    agent, driver = asking()
    async with agent:
        asked = await ask(agent, official)
        done = await answer(agent, asked, {"approved": False, "reason": "too early"}, official)
    assert (SENT, done.status) == ([], "completed")
    assert "Not approved: too early" in told(done, driver)


async def test_edited_arguments_are_checked_and_used(official: OfficialVerifier) -> None:
    """L2: the person's arguments replace the model's, and the model is told so."""
    agent, driver = asking()
    async with agent:
        asked = await ask(agent, official)
        done = await answer(agent, asked, {"approved": True, "editedArgs": {"to": "Grace"}}, official)
    assert SENT == ["Grace"]
    assert "a person changed" in told(done, driver)


async def test_edited_arguments_that_do_not_fit_are_refused(official: OfficialVerifier) -> None:
    """L2: a wrong edit does not run."""
    agent, driver = asking()
    async with agent:
        asked = await ask(agent, official)
        done = await answer(agent, asked, {"approved": True, "editedArgs": {"to": 7}}, official)
    assert SENT == []
    assert "do not fit" in told(done, driver)


async def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays_open(
    official: OfficialVerifier,
) -> None:
    """L2: half an answer must never run the call as the model meant it; a right one still may follow."""
    broken: list[Json] = [
        "yes",
        {"approved": "true"},
        {},
        1,
        {"approved": True, "editedArgs": "x"},
        {"approved": True, "editedArgs": []},
        {"approved": True, "edited_args": {"to": "Grace"}},
        {"approved": True, "reason": 7},
    ]
    agent, _ = asking()
    async with agent:
        asked = await ask(agent, official)
        for payload in broken:
            with pytest.raises(UserError) as caught:
                await answer(agent, asked, payload, official)
            assert caught.value.code == "invalid_answer"
        assert SENT == []
        await answer(agent, asked, {"approved": True}, official)
    assert SENT == ["Ada"]


async def test_a_dismissed_or_expired_question_is_a_no(official: OfficialVerifier) -> None:
    """L2: cancelled, or answered too late: not approved."""
    answers: list[tuple[AgentRunConfig | None, Literal["resolved", "cancelled"]]] = [
        (None, "cancelled"),
        (AgentRunConfig(approval_timeout_s=0), "resolved"),
    ]
    for config, status in answers:
        agent, driver = asking(config)
        async with agent:
            asked = await ask(agent, official)
            entry = ResumeEntry(asked.interrupts[0].id, status, {"approved": True})
            await agent.arun_stream(thread_id=asked.thread_id, resume=[entry]).result()
            assert "Not approved" in str(driver.requests[-1].messages[-1])
    assert SENT == []


async def test_a_new_message_instead_of_an_answer_settles_the_question(official: OfficialVerifier) -> None:
    """L2: the call is told as not run, and the answer comes too late."""
    agent, driver = asking()
    async with agent:
        asked = await ask(agent, official)
        run = agent.arun_stream("Forget it", thread_id=asked.thread_id)
        events = await play(run, official, [str(asked.interrupts[0].tool_call_id)])
        assert types(events)[1] == "TOOL_CALL_RESULT"
        assert "Not run" in told(await run.result(), driver)
        with pytest.raises(UserError) as late:
            await answer(agent, asked, {"approved": True}, official)
    assert late.value.code == "unknown_interrupt"
    assert SENT == []


async def test_a_call_that_could_not_run_is_not_asked_about(official: OfficialVerifier) -> None:
    """L2: nobody is asked to approve arguments that do not fit."""
    driver = ScriptedDriver([ScriptedTurn(calls=[ScriptedCall("send", {"too": "Ada"})]), ScriptedTurn("Oh.")])
    async with Agent("a", model=driver, tools=[send]) as agent:
        run = agent.arun_stream("Write")
        await play(run, official)
        assert (await run.result()).status == "completed"


async def test_calls_that_need_no_approval_run_before_the_question(official: OfficialVerifier) -> None:
    """L2: one call of the turn asks, the other runs at once; both results are there in the end."""
    from tests.flows.scene import add

    driver = ScriptedDriver(
        [
            ScriptedTurn(calls=[ScriptedCall("send", {"to": "Ada"}), ScriptedCall("add", {"a": 1, "b": 2})]),
            ScriptedTurn("Done."),
        ]
    )
    async with Agent("a", model=driver, tools=[send, add]) as agent:
        asked = await ask(agent, official)
        await answer(agent, asked, {"approved": True}, official)
    results = [str(m.content) for m in driver.requests[-1].messages if isinstance(m, ToolMessage)]
    assert ["sent to Ada" in results[0], "3" in results[1]] == [True, True]


async def test_two_answers_to_one_question_are_refused(official: OfficialVerifier) -> None:
    """L2: nobody has to guess which of them counts."""
    agent, _ = asking()
    async with agent:
        asked = await ask(agent, official)
        entries = [
            ResumeEntry(asked.interrupts[0].id, "resolved", {"approved": yes}) for yes in (False, True)
        ]
        with pytest.raises(UserError) as caught:
            await agent.arun_stream(thread_id=asked.thread_id, resume=entries).result()
    assert (caught.value.code, SENT) == ("duplicate_answer", [])
