"""Cancelling: prompt, graceful, and the log ends as it should."""

import asyncio
import threading
import time

import msgspec
import pytest

from agio import Agent, AgentRunConfig, ScriptedCall, ScriptedTurn, ToolContext, tool
from agio.core.engine.runner import RunResult
from agio.core.model import Usage
from agio.core.run.fold import Fold, fold_log
from agio.library import Run
from agio.protocol.events import (
    ERROR,
    METRICS,
    AgentEvent,
    CancelledOutcome,
    RunFinished,
    TextMessageChunk,
    ToolCallArgs,
    ToolCallStart,
)
from agio.protocol.messages import ToolMessage, UserMessage
from agio.testing import ModelServer, Reply
from agio.testing.faults import CutAfterEvents, Stall
from agio.testing.script import Call
from tests.flows.scene import add, lines, play, scripted
from tests.support.clock import pass_time
from tests.support.official import OfficialVerifier, check_flow
from tests.support.streams import customs

WIRES = ["openai-chat", "openai", "anthropic", "gemini"]
TELL_EARLY = ["anthropic", "gemini"]
"""The formats in which a service tells what a call uses before its end."""
LIMIT_S = 60.0
GRACE_S = 30.0


async def until(run: Run, kind: type[AgentEvent]) -> list[AgentEvent]:
    """Read a run up to the first event of a kind."""
    events: list[AgentEvent] = []
    async for event in run:
        events.append(event)
        if isinstance(event, kind):
            return events
    raise AssertionError(f"no {kind.__name__} came")


async def finish(run: Run, events: list[AgentEvent], official: OfficialVerifier) -> RunResult:
    """Read the rest; the log must end with the outcome cancelled."""
    async with asyncio.timeout(LIMIT_S):
        events += [event async for event in run]
    check_flow(events, official)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == CancelledOutcome()
    return await run.result()


@pytest.mark.parametrize("wire", WIRES)
async def test_cancelling_closes_the_models_connection_and_keeps_the_partial_text(
    wire: str, official: OfficialVerifier
) -> None:
    """L14: the model stream is closed, what was said stays, the log ends with `cancelled`."""
    async with ModelServer() as server:
        server.script(Reply("One two three four five.", chunk_chars=3, fault=Stall(after_events=5)))
        async with Agent("c", model=f"{wire}:m", base_url=server.base_url(wire), api_key="test-key") as agent:
            run = agent.arun_stream("Hi")
            events = await until(run, TextMessageChunk)
            run.cancel()
            result = await finish(run, events, official)
            await server.wait_closed_by_client()
            log = await (await agent.repository()).get_log(run.run_id)
    assert result.status == "cancelled"
    assert result.text.startswith("One")
    assert log.payload == lines(events)
    assert [told["usage_partial"] for told in customs(events, METRICS)] == [True, True]
    told = [value.get("input_tokens") for value in customs(events, METRICS)]
    early = wire in TELL_EARLY
    assert told == ([result.usage.input] * 2 if early else [None, None])
    assert (log.info.input_tokens, log.info.usage_partial) == (told[0], True)
    assert (result.usage.input > 0) is early


@pytest.mark.parametrize("wire", TELL_EARLY)
async def test_a_call_that_broke_off_counts_what_it_told(wire: str) -> None:
    """L12: before a try that works, and when none does; said to be not all."""
    async with ModelServer() as server:
        base, config = server.base_url(wire), AgentRunConfig(retries={"stream_broken": 1}, backoff_s=0.001)
        broken = Reply("One two three four five.", chunk_chars=3, fault=CutAfterEvents(5))
        server.script(broken, Reply("Done."), broken, broken)
        async with Agent("c", model=f"{wire}:m", base_url=base, api_key="test-key", config=config) as agent:
            run = agent.arun_stream("Hi")
            events = [event async for event in run]
            again, failed = await run.result(), await agent.arun_stream("Hi").result()
            store = await agent.repository()
            first, second = await store.get_run(again.run_id), await store.get_run(failed.run_id)
            log = await store.get_log(again.run_id)
    [error] = customs(events, ERROR)
    used = msgspec.convert(error["usage"], Usage)
    assert error["model"] == f"{wire}:m"
    assert again.usage.input == 2 * used.input > 0
    assert (again.status, first.input_tokens, first.usage_partial) == ("completed", again.usage.input, True)
    assert fold_log(Fold(), log).total_usage == again.usage
    assert (failed.status, second.input_tokens, second.usage_partial) == ("failed", failed.usage.input, True)
    assert failed.usage.input == again.usage.input


async def test_what_was_told_before_the_cancel_is_kept_and_said_to_be_not_all() -> None:
    """L12: the tokens of the calls that ended, and that one did not tell."""
    async with ModelServer() as server:
        server.script(
            Reply(tool_calls=[Call("add", {"a": 1, "b": 2})]),
            Reply("One two three.", chunk_chars=3, fault=Stall(after_events=3)),
        )
        url = server.base_url("openai-chat")
        async with Agent("c", model="openai-chat:m", base_url=url, api_key="test-key", tools=[add]) as agent:
            run = agent.arun_stream("Hi")
            events = await until(run, TextMessageChunk)
            run.cancel()
            events += [event async for event in run]
            info = await (await agent.repository()).get_run(run.run_id)
    first, second, total = customs(events, METRICS)
    assert "usage_partial" not in first
    assert ("input_tokens" in second, second["usage_partial"]) == (False, True)
    assert (total["input_tokens"], total["usage_partial"]) == (first["input_tokens"], True)
    assert (info.input_tokens, info.usage_partial) == (first["input_tokens"], True)


async def test_a_sync_tool_that_sleeps_does_not_hold_the_run(official: OfficialVerifier) -> None:
    """L14: not even if a sync tool sits in time.sleep(600)."""
    started = threading.Event()

    @tool
    def nap() -> str:
        """Sleep for ten minutes."""
        started.set()
        time.sleep(600)
        return "up"

    agent, _ = scripted(ScriptedTurn(calls=[ScriptedCall("nap")]), tools=[nap])
    async with agent:
        run = agent.arun_stream("Nap")
        events = await until(run, ToolCallStart)
        reading = asyncio.ensure_future(finish(run, events, official))
        await asyncio.get_running_loop().run_in_executor(None, started.wait, LIMIT_S)
        run.cancel()
        result = await reading
    (told,) = [message for message in result.messages if isinstance(message, ToolMessage)]
    assert told.error == "unknown"
    assert "unknown whether it took effect" in str(told.content)


async def test_tools_get_their_signal_before_they_are_cancelled(official: OfficialVerifier) -> None:
    """L14: a tool that listens ends by itself; one that does not is cancelled after its grace."""
    heard: list[str] = []
    both = asyncio.Barrier(3)

    @tool
    async def listens(context: ToolContext) -> str:
        """Stop when told."""
        await both.wait()
        await asyncio.get_running_loop().run_in_executor(None, context.cancel_signal.wait, LIMIT_S)
        heard.append("signal")
        pass_time(GRACE_S)
        return "stopped"

    @tool
    async def deaf() -> str:
        """Never listen."""
        try:
            await both.wait()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise
        return ""

    agent, _ = scripted(
        ScriptedTurn(calls=[ScriptedCall("listens"), ScriptedCall("deaf")]),
        tools=[listens, deaf],
        config=AgentRunConfig(cancel_grace_s=GRACE_S),
    )
    async with agent:
        run = agent.arun_stream("Go")
        events = await until(run, ToolCallStart)
        reading = asyncio.ensure_future(finish(run, events, official))
        await both.wait()
        run.cancel()
        await reading
    assert heard == ["signal", "cancelled"]


async def test_cancelling_the_task_that_reads_ends_the_log(official: OfficialVerifier) -> None:
    """L14: Ctrl-C and task cancellation arrive as CancelledError, after the log has ended."""
    hold = asyncio.Event()
    agent, _ = scripted(ScriptedTurn("Partial text", waits=hold))
    async with agent:
        run = agent.arun_stream("Hi")
        shown = asyncio.Event()

        async def read() -> None:
            async for event in run:
                if isinstance(event, TextMessageChunk):
                    shown.set()

        task = asyncio.create_task(read())
        await shown.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(LIMIT_S):
                await task
        (info,) = await agent.list_runs()
        events = await agent.get_run_history(run.run_id)
    assert info.status == "cancelled"
    check_flow(events, official)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == CancelledOutcome()


async def test_leaving_the_stream_early_cancels_the_run() -> None:
    """L14: `async with` closes the run that is left."""
    hold = asyncio.Event()
    agent, _ = scripted(ScriptedTurn("Partial text", waits=hold))
    async with agent:
        async with agent.arun_stream("Hi") as run:
            async for event in run:
                if isinstance(event, TextMessageChunk):
                    break
        (info,) = await agent.list_runs()
    assert info.status == "cancelled"


async def test_a_half_streamed_call_is_closed_and_the_thread_goes_on(official: OfficialVerifier) -> None:
    """L14: the log is consistent: the call has an end and a result, and the next run is valid for the vendor."""
    async with ModelServer() as server:
        server.script(
            Reply(
                tool_calls=[Call("add", {"a": 1, "b": 2, "note": "x" * 200})], chunk_chars=10, fault=Stall(8)
            ),
            Reply("Fine."),
        )
        async with Agent(
            "c", model="anthropic:m", base_url=server.base_url("anthropic"), api_key="test-key"
        ) as agent:
            run = agent.arun_stream("Hi")
            events = await until(run, ToolCallArgs)
            run.cancel()
            await finish(run, events, official)
            then = agent.arun_stream("Go on", thread_id=run.thread_id)
            await play(then, official)
            assert (await then.result()).text == "Fine."
    assert not server.problems


async def test_cancelling_before_the_first_event_still_writes_a_whole_log(official: OfficialVerifier) -> None:
    """L14: a run cancelled before it began has its two events, and the message is kept."""
    agent, driver = scripted(ScriptedTurn("never"))
    async with agent:
        run = agent.arun_stream("Hi")
        run.cancel()
        events: list[AgentEvent] = []
        result = await finish(run, events, official)
    assert driver.requests == []
    assert [type(message) for message in result.messages] == [UserMessage]


async def test_cancelling_twice_or_after_the_end_is_harmless(official: OfficialVerifier) -> None:
    """L14: the first end wins."""
    agent, _ = scripted(ScriptedTurn("Done."))
    async with agent:
        run = agent.arun_stream("Hi")
        events = await play(run, official)
        run.cancel()
        run.cancel()
        assert (await run.result()).status == "completed"
        assert len(await agent.get_run_history(run.run_id)) == len(events)


async def test_a_cancel_that_comes_too_late_changes_nothing(official: OfficialVerifier) -> None:
    """L14: cancelled from the run_ended hook, when the end is already in the log."""
    from agio import RunHooks, ScriptedDriver

    class Late(RunHooks):
        async def run_ended(self, result: RunResult) -> None:
            run.cancel()

    async with Agent("l", model=ScriptedDriver([ScriptedTurn("Done.")]), hooks=Late()) as agent:
        run = agent.arun_stream("Hi")
        await play(run, official)
        assert (await run.result()).status == "completed"


async def test_leaving_at_every_event_ends_the_log_and_calls_the_hook() -> None:
    """L14: wherever a reader leaves, the log has one end, the hook is called once, the thread is free."""
    from agio import RunHooks, ScriptedDriver

    ended: list[str] = []

    class Count(RunHooks):
        async def run_ended(self, result: RunResult) -> None:
            ended.append(result.status)

    for stop in range(1, 8):
        async with Agent("l", model=ScriptedDriver([ScriptedTurn("Done.")]), hooks=Count()) as agent:
            async with agent.arun_stream("Hi") as run:
                for _ in range(stop):
                    await anext(run)
            (info,) = await agent.list_runs()
            events = await agent.get_run_history(run.run_id)
        assert len(ended) == stop
        assert info.status == ended[-1]
        assert events[-1].type == "RUN_FINISHED"


async def test_a_cancellation_is_not_lost_while_the_log_ends() -> None:
    """L14: the task that was cancelled is cancelled, after the log has ended."""
    hold = asyncio.Event()
    agent, _ = scripted(ScriptedTurn("Partial", waits=hold))
    async with agent:
        left = False

        async def leave() -> None:
            nonlocal left
            async with agent.arun_stream("Hi") as run:
                await until(run, TextMessageChunk)
                task.cancel()
            left = True

        task = asyncio.create_task(leave())
        await asyncio.wait([task], timeout=LIMIT_S)
        assert task.cancelled()
        assert not left


async def test_a_run_has_one_reader() -> None:
    """L13: a second one is told, and does not hang."""
    from agio import UserError

    hold = asyncio.Event()
    agent, _ = scripted(ScriptedTurn("Partial", waits=hold))
    async with agent, agent.arun_stream("Hi") as run:
        await until(run, TextMessageChunk)
        first = asyncio.create_task(run.result())
        await asyncio.wait([first], timeout=0.05)
        with pytest.raises(UserError) as caught:
            await anext(run)
        assert caught.value.code == "already_read"
        hold.set()
        assert (await first).status == "completed"
