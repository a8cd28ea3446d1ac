"""Calls on their way into a tool and out of it: arguments, time-outs, errors, progress, cancellation, once-only."""

import asyncio
import contextvars
import gc
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from typing import cast

import pytest

from agio import AgentRunConfig, ToolContext, ToolError, UserError, client_tool, tool
from agio.core.store.repository import AgentRunRepository, NewRun, ToolRecord
from agio.core.tool import AnyTool, Tool, ToolAnswer
from agio.db.repository import open_store
from agio.errors import ModelError
from agio.execution.tool_executor import ToolExecutor
from agio.protocol.messages import FunctionCall, Json, ToolCall

FAST = AgentRunConfig(cancel_grace_s=0.05)
PATIENCE_S = 60
PATIENT = AgentRunConfig(cancel_grace_s=PATIENCE_S)


def context(call_id: str = "call_1", reports: list[Json] | None = None) -> ToolContext:
    heard: list[Json] = [] if reports is None else reports
    return ToolContext(
        tenant="t", user="u", project=None, session="thr", run="run_1", call_id=call_id, report=heard.append
    )


async def call(
    made: AnyTool,
    arguments: str = "{}",
    *,
    config: AgentRunConfig = FAST,
    records: AgentRunRepository | None = None,
    given: ToolContext | None = None,
) -> ToolAnswer:
    executor = ToolExecutor([made], config, records)
    asked = ToolCall("call_1", FunctionCall(made.name, arguments))
    async with asyncio.timeout(PATIENCE_S):
        return await executor.call(asked, given or context())


@tool
def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("{", "truncated"),
        ("nonsense", "malformed"),
        ("[1]", "Expected `object`"),
        ("5", "Expected `object`"),
        ("null", "Expected `object`"),
        ("", "missing required field `a`"),
        ("{}", "missing required field `a`"),
        ('{"a": "1"}', "Expected `int`, got `str`"),
        ('{"a": null}', "Expected `int`"),
        ('{"a": 1, "c": 2}', "unknown field `c`"),
        ('{"a": "\\ud800"}', "do not fit"),
        ('{"a": ' + "[" * 100_000, "recursion"),
    ],
)
async def test_arguments_that_do_not_fit_are_told_to_the_model(arguments: str, words: str) -> None:
    """L2: bad JSON, wrong types, unknown and missing fields are answers, and the tool does not run."""
    answer = await call(add, arguments)
    assert answer.error == "bad_arguments"
    assert words in cast(str, answer.content)


async def test_what_is_told_about_bad_arguments_is_short() -> None:
    """L2: a huge value is not repeated to the model that wrote it."""
    remote = Tool(
        name="remote",
        description="",
        parameters={"type": "object", "properties": {"a": {"type": "integer"}}},
        function=lambda: None,
    )
    for made, arguments in (
        (add, f'{{"{"x" * 100_000}": 1, "a": 1}}'),
        (remote, f'{{"a": "{"x" * 100_000}"}}'),
    ):
        answer = await call(made, arguments)
        assert answer.error == "bad_arguments"
        assert len(cast(str, answer.content)) < 5000


async def test_good_arguments_reach_the_function_with_their_types() -> None:
    """L2: defaults are filled in, values are converted, replaced arguments win."""
    assert await call(add, '{"a": 2}') == ToolAnswer("3")
    executor = ToolExecutor([add], FAST)
    asked = ToolCall("call_1", FunctionCall("add", '{"a": 2}'))
    assert await executor.call(asked, context(), arguments={"a": 5, "b": 6}) == ToolAnswer("11")
    assert (await executor.call(asked, context(), arguments={"a": "x"})).error == "bad_arguments"


async def test_a_tool_with_a_schema_of_its_own_is_checked_by_it() -> None:
    """L2: a tool built from a JSON schema validates by that schema."""

    def grow(by: int) -> int:
        return by + 1

    made = Tool(
        name="grow",
        description="",
        parameters={"type": "object", "properties": {"by": {"type": "integer", "minimum": 1}}},
        function=grow,
    )
    assert await call(made, '{"by": 2}') == ToolAnswer("3")
    wrong = await call(made, '{"by": 0}')
    assert wrong.error == "bad_arguments"
    assert "minimum" in cast(str, wrong.content)
    assert (await call(made, "[]")).error == "bad_arguments"


async def test_an_unknown_tool_is_told_with_the_names_of_the_known() -> None:
    """L2: the model can correct itself."""
    executor = ToolExecutor([add, client_tool("remote", "", {"type": "object"})], FAST)
    for name in ("sub", "remote"):
        answer = await executor.call(ToolCall("call_1", FunctionCall(name, "{}")), context())
        assert answer.error == "bad_arguments"
        assert "add, remote" in cast(str, answer.content)


def test_two_tools_of_one_name_are_refused() -> None:
    """L13: also when one of them is agio's own."""

    @tool
    def complete_goal() -> None:
        """Not ours."""

    for tools in ([add, add], [complete_goal]):
        with pytest.raises(UserError) as caught:
            ToolExecutor(tools, FAST)
        assert caught.value.code == "duplicate_tool"


def test_only_a_call_that_can_run_asks_first() -> None:
    """L2: a person is not asked about arguments that do not fit."""

    @tool(approval="ask")
    def pay(amount: int) -> None:
        """Pay."""

    executor = ToolExecutor([pay, client_tool("remote", "", {"type": "object"})], FAST)
    assert executor.asks(ToolCall("1", FunctionCall("pay", '{"amount": 1}')))
    assert not executor.asks(ToolCall("1", FunctionCall("pay", '{"amount": "x"}')))
    assert not executor.asks(ToolCall("1", FunctionCall("remote", "{}")))
    assert not executor.asks(ToolCall("1", FunctionCall("unknown", "{}")))
    assert executor.is_client(ToolCall("1", FunctionCall("remote", "{}")))
    assert not executor.is_client(ToolCall("1", FunctionCall("unknown", "{}")))


async def test_a_tool_that_takes_too_long_is_stopped() -> None:
    """L2: an async tool is cancelled after its own time-out or the configuration's, and the model is told."""
    cancelled: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append("told")

    by_tool = await call(tool(timeout_s=0.01)(wait))
    by_config = await call(tool(wait), config=AgentRunConfig(cancel_grace_s=0.01, tool_timeout_s=0.02))
    assert by_tool.error == by_config.error == "tool_timeout"
    assert "0.01 s" in cast(str, by_tool.content)
    assert "0.02 s" in cast(str, by_config.content)
    assert cancelled == ["told", "told"]


async def test_a_sync_tool_that_takes_too_long_gets_its_signal() -> None:
    """L2: a sync tool sees the cancel signal when its time is up; what it returns within its grace counts."""
    seen = threading.Event()

    @tool(timeout_s=0.01)
    def wait(ctx: ToolContext) -> str:
        """Wait."""
        if ctx.cancel_signal.wait(PATIENCE_S) and ctx.cancelled:
            seen.set()
        return "late"

    assert (await call(wait, config=PATIENT)).content == "late"
    assert await asyncio.to_thread(seen.wait, PATIENCE_S)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "text", "code"),
    [
        (ValueError("no such city"), "ValueError: no such city", "tool_failed"),
        (KeyError(), "KeyError", "tool_failed"),
        (Unprintable(), "Unprintable", "tool_failed"),
        (ModelError("rate_limited", "Slow down."), "Slow down.", "rate_limited"),
        (StopIteration(1), "StopIteration", "tool_failed"),
        (SystemExit(2), "it tried to end the program", "tool_failed"),
        (asyncio.CancelledError(), "cancelled itself", "tool_failed"),
        (ValueError("a\x00b\ud800c"), "ValueError: abc", "tool_failed"),
        (ValueError("x" * 100_000), "bytes left out", "tool_failed"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_tool_that_raises_is_told_to_the_model(
    error: BaseException, text: str, code: str, is_async: bool
) -> None:
    """L13: whatever a tool raises becomes a result the model can read; the loop goes on."""

    @tool
    def sync_tool() -> None:
        """Fail."""
        raise error

    @tool
    async def async_tool() -> None:
        """Fail."""
        raise error

    answer = await call(async_tool if is_async else sync_tool)
    assert answer.error == code
    assert text in cast(str, answer.content)
    assert len(cast(str, answer.content)) < 5000


async def test_a_tool_error_ends_the_run() -> None:
    """L13: ToolError is the tool's way to end the run."""

    @tool
    def refuse() -> None:
        """Refuse."""
        raise ToolError("forbidden", "Not yours.")

    with pytest.raises(ToolError, match="Not yours"):
        await call(refuse)


async def test_every_kind_of_callable_runs() -> None:
    """L2: sync, async, async callable objects and functions that return a coroutine."""

    class Later:
        async def __call__(self, x: int) -> int:
            return x + 1

    @tool
    def deferred(x: int) -> object:
        """Defer."""
        return Later()(x)

    assert await call(tool(name="later")(Later()), '{"x": 1}') == ToolAnswer("2")
    assert await call(deferred, '{"x": 2}') == ToolAnswer("3")


var = contextvars.ContextVar("var", default="unset")


async def test_a_sync_tool_runs_in_a_daemon_thread_with_the_callers_context() -> None:
    """L2: not on the loop's thread, never in the way of the program's end, context variables visible."""

    @tool
    def where() -> list[object]:
        """Tell."""
        thread = threading.current_thread()
        return [thread.daemon, thread is threading.main_thread(), var.get()]

    var.set("mine")
    assert await call(where) == ToolAnswer('[true,false,"mine"]')


def test_a_stuck_sync_tool_does_not_hold_the_program() -> None:
    """L14: a program whose tool sits in time.sleep(600) ends when its main function does."""
    program = """
import asyncio, time
from agio import Agent, AgentRunConfig, ScriptedCall, ScriptedDriver, ScriptedTurn, tool

@tool(timeout_s=0.05)
def stuck() -> None:
    "Sleep."
    time.sleep(600)

async def main():
    model = ScriptedDriver([ScriptedTurn(calls=[ScriptedCall("stuck")]), ScriptedTurn("Over.")])
    async with Agent("a", model=model, tools=[stuck], config=AgentRunConfig(cancel_grace_s=0.05)) as agent:
        print(await agent.arun("go"))

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        timeout=60,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Over.\n", "")


async def test_progress_is_heard_from_a_coroutine_and_from_a_thread() -> None:
    """R8: `progress()` may be called anywhere in a tool; it is reported on the loop's thread."""
    threads: set[int] = set()

    class Heard(list[Json]):
        def append(self, item: Json, /) -> None:
            threads.add(threading.get_ident())
            super().append(item)

    heard = Heard()

    @tool
    def in_thread(ctx: ToolContext) -> None:
        """Report."""
        ctx.progress("half", 0.5)
        ctx.progress("odd \ud800\x00text", float("nan"))

    @tool
    async def on_loop(ctx: ToolContext) -> None:
        """Report."""
        ctx.progress("done")

    await call(in_thread, given=context(reports=heard))
    await call(on_loop, given=context(reports=heard))
    assert heard == [{"message": "half", "fraction": 0.5}, {"message": "odd text"}, {"message": "done"}]
    assert threads == {threading.get_ident()}


async def test_a_cancelled_call_tells_the_tool_and_honours_its_grace() -> None:
    """L14: the signal is set first, the task is cancelled after the grace, the caller gets its cancellation."""
    order: list[str] = []
    begun = asyncio.Event()

    @tool
    async def obey(ctx: ToolContext) -> None:
        """Work until told to stop."""
        begun.set()
        await asyncio.to_thread(ctx.cancel_signal.wait, PATIENCE_S)
        order.append("saw the signal")

    @tool
    async def ignore(ctx: ToolContext) -> None:
        """Work until cancelled."""
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            order.append(f"cancelled, signal {ctx.cancelled}")
            raise

    for made, config in ((obey, PATIENT), (ignore, FAST)):
        begun.clear()
        task = asyncio.create_task(call(made, config=config))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert order == ["saw the signal", "cancelled, signal True"]


async def test_a_second_cancellation_does_not_leave_the_tool_running() -> None:
    """L14: cancelled again during the grace, the call still cancels its tool."""
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def work() -> None:
        """Work."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    given = context()
    task = asyncio.create_task(call(work, config=PATIENT, given=given))
    await begun.wait()
    task.cancel()
    await asyncio.to_thread(given.cancel_signal.wait, PATIENCE_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(PATIENCE_S):
        await ended.wait()


async def test_a_sync_tool_that_ignores_its_signal_is_left_behind() -> None:
    """L14: cancellation takes the grace, not as long as the tool."""
    begun, go_on = threading.Event(), threading.Event()

    @tool
    def stuck() -> None:
        """Wait for the test."""
        begun.set()
        go_on.wait(10 * PATIENCE_S)
        raise ValueError("nobody hears this")

    task = asyncio.create_task(call(stuck))
    await asyncio.to_thread(begun.wait, PATIENCE_S)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=PATIENCE_S)
    go_on.set()
    assert done
    assert task.cancelled()
    gc.collect()


@pytest.fixture
async def records() -> AsyncIterator[AgentRunRepository]:
    repository = await open_store(":memory:")
    await repository.create_run(NewRun("run_1", "thr", "a", "m", "mark"))
    yield repository
    await repository.close()


async def test_a_once_only_call_is_recorded_before_it_acts(records: AgentRunRepository) -> None:
    """C6: the beginning is stored before the tool acts, its result before it is answered, repeats get the result."""
    known: list[ToolRecord | None] = []

    @tool
    async def pay() -> str:
        """Pay."""
        known.append(await records.begin_tool("run_1", "call_1"))
        return "paid"

    assert await call(pay, records=records) == ToolAnswer("paid")
    assert known == [ToolRecord(None)]
    assert await call(pay, records=records) == ToolAnswer("paid")
    assert len(known) == 1


async def test_a_failed_once_only_call_is_not_tried_again(records: AgentRunRepository) -> None:
    """C6: a failure is a result too."""
    tries: list[int] = []

    @tool
    def pay() -> None:
        """Pay."""
        tries.append(1)
        raise ValueError("no money")

    first = await call(pay, records=records)
    assert await call(pay, records=records) == first
    assert (first.error, tries) == ("tool_failed", [1])


@pytest.mark.parametrize("effect", ["once", "idempotent", "read"])
async def test_a_call_lost_half_way_depends_on_its_effect(records: AgentRunRepository, effect: str) -> None:
    """C6: `once` ends as unknown and is not done again; `read` and `idempotent` are."""
    tries: list[str] = []

    def act(ctx: ToolContext) -> str:
        """Act."""
        tries.append(ctx.call_id)
        return "done"

    made = {"once": tool(effect="once"), "idempotent": tool(effect="idempotent"), "read": tool(effect="read")}
    await records.begin_tool("run_1", "call_1")
    answer = await call(made[effect](act), records=records)
    if effect == "once":
        assert (answer.error, tries) == ("unknown", [])
        assert "Check before you call it again" in cast(str, answer.content)
    else:
        assert (answer, tries) == (ToolAnswer("done"), ["call_1"])
