"""A call that must happen once: whatever ends its run, it is never done again, and nobody is told a lie about it."""

import asyncio

import pytest

from agio import (
    Agent,
    AgentRunConfig,
    ResumeEntry,
    ScriptedCall,
    ScriptedDriver,
    ScriptedTurn,
    ToolError,
    UserError,
    client_tool,
    tool,
)
from agio.protocol.messages import ToolMessage
from tests.flows.scene import play
from tests.support.clock import pass_time
from tests.support.official import OfficialVerifier

SHORT = AgentRunConfig(run_timeout_s=600, cancel_grace_s=0.05)


def results(driver: ScriptedDriver) -> list[str]:
    return [
        str(message.content) for message in driver.requests[-1].messages if isinstance(message, ToolMessage)
    ]


async def test_a_run_that_fails_in_the_middle_of_a_call_settles_it(official: OfficialVerifier) -> None:
    """L13: neither the client's late result nor a new message runs it again; the model learns that nobody knows."""
    paid: list[str] = []

    @tool
    async def pay() -> str:
        """Pay, slowly."""
        paid.append("once")
        pass_time(600)
        await asyncio.Event().wait()
        return ""

    pick = client_tool("pick", "Pick.", {"type": "object"})
    driver = ScriptedDriver(
        [ScriptedTurn(calls=[ScriptedCall("pay"), ScriptedCall("pick")]), ScriptedTurn("Hm.")]
    )
    async with Agent("p", model=driver, tools=[pay, pick], config=SHORT) as agent:
        run = agent.arun_stream("Pay")
        events = await play(run, official)
        result = await run.result()
        assert result.error is not None
        assert result.error.code == "time_budget"
        calls = [message.tool_call_id for message in result.messages if isinstance(message, ToolMessage)]
        assert len(calls) == 2
        with pytest.raises(UserError) as late:
            await agent.arun_stream(thread_id=run.thread_id, tool_results={calls[1]: "blue"}).result()
        assert late.value.code == "unknown_tool_call"
        await play(agent.arun_stream("And?", thread_id=run.thread_id), official, calls)
    assert paid == ["once"]
    assert "unknown whether it took effect" in results(driver)[0]
    assert "Not run" in results(driver)[1]
    assert events[-1].type == "RUN_ERROR"


async def test_an_approved_call_that_was_cut_off_is_not_approved_again(official: OfficialVerifier) -> None:
    """L2: the same answer sent twice does not act twice."""
    paid: list[str] = []

    @tool(approval="ask")
    async def pay() -> str:
        """Pay, slowly."""
        paid.append("once")
        pass_time(600)
        await asyncio.Event().wait()
        return ""

    driver = ScriptedDriver([ScriptedTurn(calls=[ScriptedCall("pay")])])
    async with Agent("p", model=driver, tools=[pay], config=SHORT) as agent:
        asked = await agent.arun_stream("Pay").result()
        entry = ResumeEntry(asked.interrupts[0].id, "resolved", {"approved": True})
        first = await agent.arun_stream(thread_id=asked.thread_id, resume=[entry]).result()
        assert first.status == "failed"
        with pytest.raises(UserError) as again:
            await agent.arun_stream(thread_id=asked.thread_id, resume=[entry]).result()
    assert (again.value.code, paid) == ("unknown_interrupt", ["once"])


async def test_a_call_beside_one_that_ends_the_run_is_told_as_unknown(official: OfficialVerifier) -> None:
    """R9: a refusal ends the run; the other call of the turn was under way."""
    under_way = asyncio.Event()

    @tool
    async def slow() -> str:
        """Never end."""
        under_way.set()
        await asyncio.Event().wait()
        return ""

    @tool
    async def refused() -> str:
        """Be refused, in words that no log can hold."""
        await under_way.wait()
        raise ToolError("forbidden", "no entry \udcff")

    driver = ScriptedDriver([ScriptedTurn(calls=[ScriptedCall("slow"), ScriptedCall("refused")])])
    config = AgentRunConfig(cancel_grace_s=0.05)
    async with Agent("p", model=driver, tools=[slow, refused], config=config) as agent:
        run = agent.arun_stream("Go")
        events = await play(run, official)
        told = [m for m in (await run.result()).messages if isinstance(m, ToolMessage)]
    assert events[-1].type == "RUN_ERROR"
    assert "unknown whether it took effect" in str(told[0].content)


async def test_a_tool_that_finishes_within_its_grace_is_believed(official: OfficialVerifier) -> None:
    """L2: what it did is what the model is told."""
    from agio import ToolContext

    @tool(timeout_s=0.05)
    async def careful(context: ToolContext) -> str:
        """Stop at a good place."""
        await asyncio.get_running_loop().run_in_executor(None, context.cancel_signal.wait, 60)
        return "paid 3 of 5"

    driver = ScriptedDriver([ScriptedTurn(calls=[ScriptedCall("careful")]), ScriptedTurn("Ok.")])
    config = AgentRunConfig(cancel_grace_s=60)
    async with Agent("p", model=driver, tools=[careful], config=config) as agent:
        await play(agent.arun_stream("Go"), official)
    assert "paid 3 of 5" in results(driver)[0]
