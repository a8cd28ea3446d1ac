"""The calls of one turn, side by side but not too many, and what they say while and after they run."""

import asyncio
import threading

import pytest

from agio import (
    Agent,
    AgentEvent,
    AgentRunConfig,
    Custom,
    RunError,
    ScriptedCall,
    ScriptedDriver,
    ScriptedTurn,
    ToolCallResult,
    ToolContext,
    ToolError,
    tool,
)
from agio.protocol.events import TOOL_PROGRESS
from agio.protocol.messages import json_object

PATIENCE_S = 60


def model(name: str, count: int) -> ScriptedDriver:
    calls = [ScriptedCall(name, {"number": number}) for number in range(count)]
    return ScriptedDriver([ScriptedTurn(calls=calls), ScriptedTurn("Done.")])


@pytest.mark.parametrize("limit", [1, 3])
async def test_so_many_calls_run_at_once_and_no_more(limit: int) -> None:
    """L2: `tool_concurrency` calls really run together, and the next waits for one of them to end."""
    running = most = 0
    together = asyncio.Barrier(limit)

    @tool
    async def work(number: int) -> int:
        """Work."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await together.wait()
        running -= 1
        return number

    config = AgentRunConfig(tool_concurrency=limit)
    async with Agent("a", model=model("work", 3 * limit), tools=[work], config=config) as agent:
        async with asyncio.timeout(PATIENCE_S):
            assert await agent.arun("go") == "Done."
    assert most == limit


async def test_sync_calls_run_at_once_too() -> None:
    """L2: each sync tool has its own thread."""
    together = threading.Barrier(4, timeout=PATIENCE_S)

    @tool
    def work(number: int) -> int:
        """Work."""
        together.wait()
        return number

    async with Agent("a", model=model("work", 4), tools=[work]) as agent:
        assert await agent.arun("go") == "Done."


async def test_results_are_shown_as_they_come_and_told_in_call_order() -> None:
    """L2: the fast call does not wait for the slow one, the model sees the order it asked in."""
    second_done = asyncio.Event()

    @tool
    async def work(number: int) -> str:
        """Work."""
        if number == 0:
            await second_done.wait()
        else:
            second_done.set()
        return f"result {number}"

    driver = model("work", 2)
    async with Agent("a", model=driver, tools=[work]) as agent:
        async with asyncio.timeout(PATIENCE_S):
            events = [event async for event in agent.arun_stream("go")]
    shown = [event.content for event in events if isinstance(event, ToolCallResult)]
    assert shown == ["result 1", "result 0"]
    told = [str(getattr(message, "content", "")) for message in driver.requests[1].messages[-2:]]
    assert ["result 0" in told[0], "result 1" in told[1]] == [True, True]


def progress(events: list[AgentEvent]) -> list[object]:
    return [
        json_object(event.value)["message"]
        for event in events
        if isinstance(event, Custom) and event.name == TOOL_PROGRESS
    ]


async def test_progress_after_the_result_is_dropped() -> None:
    """R8: what a tool says after its call has ended is not in the log."""
    kept: list[ToolContext] = []

    @tool
    async def work(number: int, ctx: ToolContext) -> str:
        """Work."""
        kept.append(ctx)
        ctx.progress("during")
        return "ok"

    @tool
    async def after(number: int) -> str:
        """Speak for a call that is over."""
        kept[0].progress("late")
        return "ok"

    driver = ScriptedDriver(
        [
            ScriptedTurn(calls=[ScriptedCall("work", {"number": 1})]),
            ScriptedTurn(calls=[ScriptedCall("after", {"number": 1})]),
            ScriptedTurn("Done."),
        ]
    )
    async with Agent("a", model=driver, tools=[work, after]) as agent:
        run = agent.arun_stream("go")
        events = [event async for event in run]
        kept[0].progress("later")
        await asyncio.sleep(0)
        assert await agent.get_run_history(run.run_id) == events
    assert progress(events) == ["during"]


async def test_a_failed_run_hears_nothing_more_from_its_tools() -> None:
    """L13: RUN_ERROR is the last event, even while a tool that was left behind goes on reporting."""
    chatter: list[asyncio.Task[None]] = []
    over = asyncio.Event()

    @tool
    async def talk(ctx: ToolContext) -> None:
        """Leave something behind that never stops talking."""

        async def go_on() -> None:
            while not over.is_set():
                ctx.progress("still here")
                await asyncio.sleep(0)

        chatter.append(asyncio.create_task(go_on()))
        await asyncio.Event().wait()

    @tool
    async def refuse() -> None:
        """End the run."""
        raise ToolError("forbidden", "Not yours.")

    calls = [ScriptedCall("talk"), ScriptedCall("refuse")]
    driver = ScriptedDriver([ScriptedTurn(calls=calls)])
    config = AgentRunConfig(cancel_grace_s=0.02)
    async with Agent("a", model=driver, tools=[talk, refuse], config=config) as agent:
        run = agent.arun_stream("go")
        events = [event async for event in run]
        over.set()
        await asyncio.gather(*chatter)
        assert isinstance(events[-1], RunError)
        assert events[-1].code == "forbidden"
        assert "still here" in progress(events)
        assert await agent.get_run_history(run.run_id) == events
