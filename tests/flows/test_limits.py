"""Budgets end a run before the call that would break them."""

import asyncio

from agio import AgentRunConfig, ModelError, ScriptedCall, ScriptedTurn, tool
from agio.core.model import Usage
from agio.core.run.fold import Fold, fold_log
from agio.protocol.events import NOTICE, RunError, RunFinished
from agio.protocol.messages import Json
from tests.flows.scene import add, play, scripted
from tests.support.clock import pass_time
from tests.support.official import OfficialVerifier
from tests.support.streams import customs

AGAIN = ScriptedTurn(calls=[ScriptedCall("add", {"a": 1, "b": 1})])


async def test_the_step_limit_ends_the_run_before_one_step_too_many(official: OfficialVerifier) -> None:
    """C6: `step_limit`, after exactly max_steps model calls."""
    agent, driver = scripted(*[AGAIN] * 9, config=AgentRunConfig(max_steps=3))
    async with agent:
        events = await play(agent.arun_stream("Go"), official)
    assert isinstance(events[-1], RunError)
    assert events[-1].code == "step_limit"
    assert len(driver.requests) == 3


async def test_the_token_budget_counts_what_the_next_call_would_take(official: OfficialVerifier) -> None:
    """L6: `token_budget` before the call that would break it; the answer's room is what is left."""
    turn = ScriptedTurn(calls=[ScriptedCall("add", {"a": 1, "b": 1})], usage=Usage(400, 100))
    agent, driver = scripted(*[turn] * 9, config=AgentRunConfig(max_tokens=1250))
    async with agent:
        events = await play(agent.arun_stream("Go"), official)
    assert isinstance(events[-1], RunError)
    assert events[-1].code == "token_budget"
    assert len(driver.requests) == 2 + 1
    room = [request.settings.max_output_tokens for request in driver.requests]
    assert all(left is not None and left < 1250 for left in room)
    assert room == sorted(room, key=lambda left: -(left or 0))


async def test_a_call_that_broke_off_counts_before_it_is_tried_again(official: OfficialVerifier) -> None:
    """L6: `token_budget` instead of a try that would break it, known by what the same prompt took before."""
    broken = ScriptedTurn("One", told=Usage(900, 1), fails=ModelError("stream_broken", "x", retryable=True))
    agent, driver = scripted(
        broken, ScriptedTurn("Never."), config=AgentRunConfig(backoff_s=0.0, max_tokens=1000)
    )
    async with agent:
        run = agent.arun_stream("Go")
        events = await play(run, official)
        log = await (await agent.repository()).get_log(run.run_id)
    assert isinstance(events[-1], RunError)
    assert (events[-1].code, len(driver.requests)) == ("token_budget", 1)
    assert (log.info.input_tokens, log.info.output_tokens, log.info.usage_partial) == (900, 1, True)
    assert fold_log(Fold(), log).total_usage == Usage(900, 1)


async def test_a_try_has_the_room_that_the_tries_before_it_left(official: OfficialVerifier) -> None:
    """L6: the last step may be tried again, with less room; a try that told nothing takes none."""
    broken = ModelError("stream_broken", "x", retryable=True)
    tries = [ScriptedTurn("One", told=told, fails=broken) for told in (Usage(200, 50), None)]
    config = AgentRunConfig(backoff_s=0.0, max_tokens=1000, max_steps=1, retries={"stream_broken": 2})
    agent, driver = scripted(*tries, ScriptedTurn("Done.", usage=Usage(200, 60)), config=config)
    async with agent:
        events = await play(agent.arun_stream("Go"), official)
    assert isinstance(events[-1], RunFinished)
    first, second, third = [request.settings.max_output_tokens for request in driver.requests]
    assert first is not None
    assert 700 < first < 1000
    assert second == third == 1000 - 250 - 200


async def test_the_first_call_is_refused_if_the_prompt_alone_breaks_the_budget(
    official: OfficialVerifier,
) -> None:
    """L6: no model call is made."""
    agent, driver = scripted(ScriptedTurn("never"), config=AgentRunConfig(max_tokens=20))
    async with agent:
        events = await play(agent.arun_stream("A rather long question. " * 20), official)
    assert isinstance(events[-1], RunError)
    assert events[-1].code == "token_budget"
    assert (
        "used 0 of its 20 tokens: 20 are left, and the prompt of the next call takes about"
        in events[-1].message
    )
    assert driver.requests == []


async def test_history_gives_way_to_the_token_budget(official: OfficialVerifier) -> None:
    """L5: a long answer does not keep the next messages from being answered; `agio.notice` says what was left out."""
    answers = [
        ScriptedTurn("word " * (4600 * 4 // 5), usage=Usage(300, 4600)),
        ScriptedTurn("Two."),
        ScriptedTurn("Three."),
    ]
    agent, driver = scripted(*answers, config=AgentRunConfig(max_tokens=5000))
    async with agent:
        first = agent.arun_stream("One?")
        await play(first, official)
        said: list[str] = []
        notices: list[object] = []
        for question in ("Two?", "Three?"):
            run = agent.arun_stream(question, thread_id=first.thread_id)
            notices += [notice["message"] for notice in customs(await play(run, official), NOTICE)]
            said.append((await run.result()).text)
    assert said == ["Two.", "Three."]
    room = [request.settings.max_output_tokens or 0 for request in driver.requests]
    assert min(room) >= 5000 // 2
    assert "Left out 2 older messages, to keep to half of the 5000 tokens that the run may still use" in str(
        notices
    )
    assert "Two?" in str(driver.requests[-1].messages)


async def test_the_wall_time_budget_ends_a_run_in_the_middle_of_a_tool(official: OfficialVerifier) -> None:
    """L6: `time_budget`; the tool is told to stop."""
    stopped = asyncio.Event()

    @tool
    async def forever() -> str:
        """Never return."""
        pass_time(600)
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ""

    agent, _ = scripted(
        ScriptedTurn(calls=[ScriptedCall("forever")]),
        tools=[forever],
        config=AgentRunConfig(run_timeout_s=600, cancel_grace_s=0.05),
    )
    async with agent:
        events = await play(agent.arun_stream("Go"), official)
    assert isinstance(events[-1], RunError)
    assert events[-1].code == "time_budget"
    assert stopped.is_set()


async def test_bad_arguments_are_told_to_the_model_a_bounded_number_of_times(
    official: OfficialVerifier,
) -> None:
    """R9: arguments that do not fit are an error result first, and `bad_tool_arguments` in the end."""
    bad = ScriptedTurn(calls=[ScriptedCall("add", raw='{"a": "one"')])
    agent, driver = scripted(*[bad] * 9, config=AgentRunConfig(max_bad_arguments=2))
    async with agent:
        events = await play(agent.arun_stream("Go"), official)
    assert isinstance(events[-1], RunError)
    assert events[-1].code == "bad_tool_arguments"
    assert len(driver.requests) == 3
    assert "do not fit" in str(driver.requests[1].messages[-1])


async def test_a_model_that_corrects_itself_goes_on(official: OfficialVerifier) -> None:
    """L13: an unknown tool, then wrong arguments, then right ones."""
    agent, _ = scripted(
        ScriptedTurn(calls=[ScriptedCall("plus", {"a": 1})]),
        ScriptedTurn(calls=[ScriptedCall("add", {"a": 1})]),
        ScriptedTurn(calls=[ScriptedCall("add", {"a": 1, "b": 2})]),
        ScriptedTurn("3"),
    )
    async with agent:
        run = agent.arun_stream("Go")
        await play(run, official)
        assert (await run.result()).text == "3"


async def test_a_tool_that_fails_is_told_to_the_model(official: OfficialVerifier) -> None:
    """L13: the run goes on; the words of the error reach the model, a stack trace does not."""

    @tool
    def broken() -> str:
        """Fail."""
        raise ValueError("no such city")

    agent, driver = scripted(
        ScriptedTurn(calls=[ScriptedCall("broken")]), ScriptedTurn("Sorry."), tools=[broken]
    )
    async with agent:
        run = agent.arun_stream("Go")
        await play(run, official)
        assert (await run.result()).text == "Sorry."
    told = str(driver.requests[1].messages[-1])
    assert "ValueError: no such city" in told
    assert "Traceback" not in told


async def test_a_refusal_by_our_own_side_ends_the_run(official: OfficialVerifier) -> None:
    """R9: ToolError ends the run with its code."""
    from agio import ToolError

    @tool
    def forbidden() -> str:
        """Be refused."""
        raise ToolError("forbidden", "This tool is not yours.")

    agent, _ = scripted(ScriptedTurn(calls=[ScriptedCall("forbidden")]), tools=[forbidden])
    async with agent:
        events = await play(agent.arun_stream("Go"), official)
    assert isinstance(events[-1], RunError)
    assert events[-1].code == "forbidden"


async def test_an_exception_nobody_foresaw_is_an_event_too(official: OfficialVerifier) -> None:
    """L13: the stream never just breaks."""
    from agio import Agent, RunHooks
    from agio.core.run.spec import RunRequest

    class Broken(RunHooks):
        async def run_started(self, request: RunRequest) -> None:
            raise ZeroDivisionError

    from agio import ScriptedDriver

    async with Agent("b", model=ScriptedDriver([]), hooks=Broken()) as agent:
        events = await play(agent.arun_stream("Go"), official)
    assert isinstance(events[-1], RunError)
    assert events[-1].code == "internal_error"


async def test_what_the_budget_left_out_is_said(official: OfficialVerifier) -> None:
    """L5: agio.notice says how much of the history did not fit."""
    agent, driver = scripted(
        *[ScriptedTurn("word " * 100)] * 6, config=AgentRunConfig(context_tokens=400, compact_at_tokens=0)
    )
    async with agent:
        first = agent.arun_stream("start")
        await play(first, official)
        notices: list[object] = []
        for _ in range(4):
            run = agent.arun_stream("more", thread_id=first.thread_id)
            notices += [notice["code"] for notice in customs(await play(run, official), NOTICE)]
    assert "context_trimmed" in notices
    assert len(driver.requests[-1].messages) < 9


async def test_a_result_larger_than_an_event_may_be_is_told_instead(official: OfficialVerifier) -> None:
    """L6: max_event_bytes binds images too; the run goes on."""
    from agio import Image
    from agio.protocol.codec import encode

    @tool
    def camera() -> Image:
        """Take a large picture."""
        return Image(b"x" * 500_000)

    agent, driver = scripted(
        ScriptedTurn(calls=[ScriptedCall("camera")]), ScriptedTurn("Too big."), tools=[camera]
    )
    async with agent:
        events = await play(agent.arun_stream("Go"), official)
    assert max(len(encode(event)) for event in events) < 256 * 1024
    assert "larger than" in str(driver.requests[1].messages[-1])


async def test_a_source_that_fails_is_told_and_the_run_goes_on(official: OfficialVerifier) -> None:
    """L13: a memory service that is away is agio.error, not the end."""
    from agio import Agent, ScriptedDriver, Snippet
    from agio.protocol.events import ERROR

    class Away:
        async def page_context(self) -> list[Snippet]:
            return [Snippet("page", "invoice 7")]

        async def memories(self, query: str, limit: int) -> list[Snippet]:
            raise ConnectionError("away")

        async def documents(self, query: str, limit: int) -> list[Snippet]:
            return []

    driver = ScriptedDriver([ScriptedTurn("Fine.")])
    async with Agent("s", model=driver, source=Away()) as agent:
        run = agent.arun_stream("Hi")
        events = await play(run, official)
        assert (await run.result()).text == "Fine."
    assert [error["code"] for error in customs(events, ERROR)] == ["context_unavailable"]
    assert "invoice 7" in str(driver.requests[0].messages)


async def test_a_turns_record_says_what_its_request_was_made_of(official: OfficialVerifier) -> None:
    """L5, L12: the ids of memories and documents in the prompt, never their text; a digest of the whole request."""
    from agio import Agent, ScriptedDriver, Snippet
    from agio.core.engine.turn import request_digest
    from agio.db.repository import open_store

    class Library:
        async def page_context(self) -> list[Snippet]:
            return [Snippet("page", "invoice 7")]

        async def memories(self, query: str, limit: int) -> list[Snippet]:
            return [Snippet("name", "Her name is Ada.", "mem_1")]

        async def documents(self, query: str, limit: int) -> list[Snippet]:
            return [Snippet("book", "x" * 200_000, "doc_1"), Snippet("note", "short", "doc_2")]

    driver = ScriptedDriver(
        [ScriptedTurn(calls=[ScriptedCall("add", {"a": 1, "b": 2})]), ScriptedTurn("Fine.")]
    )
    config = AgentRunConfig(context_tokens=6000)
    store = await open_store(":memory:")
    agent = Agent("s", model=driver, source=Library(), tools=[add], config=config, store=store)
    run = agent.arun_stream("Hi")
    await play(run, official)
    log = await store.get_log(run.run_id)
    await store.close()
    assert [turn.context for turn in log.turns] == [["mem_1"]] * 2, (
        "what was left out of the prompt is not named"
    )
    assert [turn.digest for turn in log.turns] == [request_digest(request) for request in driver.requests]
    assert len({turn.digest for turn in log.turns}) == 2


async def test_two_runs_at_once_in_one_thread_are_refused() -> None:
    """L9: whoever comes second is told that the thread is busy; the first is not disturbed."""
    from agio.errors import AgioError

    hold = asyncio.Event()
    slow = ScriptedTurn("One at a time.", waits=hold)
    agent, _ = scripted(ScriptedTurn("First."), slow, slow)
    async with agent:
        first = agent.arun_stream("start")
        await first.result()
        both = [
            asyncio.create_task(agent.arun(f"go {number}", thread_id=first.thread_id)) for number in range(2)
        ]
        (refused,), (going,) = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        hold.set()
        assert await going == "One at a time."
    error = refused.exception()
    assert isinstance(error, AgioError)
    assert error.code == "thread_busy"


async def test_a_source_that_hangs_is_bounded_by_the_run_time(official: OfficialVerifier) -> None:
    """L6: nothing of a run outlives its wall-time budget, the fetching of its context included."""
    from agio import Agent, ScriptedDriver, Snippet

    class Hangs:
        async def page_context(self) -> list[Snippet]:
            await asyncio.Event().wait()
            return []

        async def memories(self, query: str, limit: int) -> list[Snippet]:
            return []

        async def documents(self, query: str, limit: int) -> list[Snippet]:
            return []

    config = AgentRunConfig(run_timeout_s=0.2)
    async with Agent("s", model=ScriptedDriver([]), source=Hangs(), config=config) as agent:
        events = await play(agent.arun_stream("Hi"), official)
    assert isinstance(events[-1], RunError)
    assert events[-1].code == "time_budget"


async def test_a_goal_needs_a_summary_and_the_output_it_was_asked_for(official: OfficialVerifier) -> None:
    """C6: arguments that do not fit are told to the model; with an output type the goal delivers it."""
    import dataclasses

    from agio import Agent, ScriptedDriver

    @dataclasses.dataclass
    class Sum:
        total: int

    good: dict[str, Json] = {"summary": "Added.", "output": {"total": 5}}
    driver = ScriptedDriver(
        [
            ScriptedTurn(calls=[ScriptedCall("complete_goal", raw='{"summ')]),
            ScriptedTurn(calls=[ScriptedCall("complete_goal", {"summary": 3})]),
            ScriptedTurn(
                calls=[ScriptedCall("complete_goal", {"summary": "Added.", "output": {"total": "x"}})]
            ),
            ScriptedTurn(calls=[ScriptedCall("complete_goal", good)]),
        ]
    )
    async with Agent("g", model=driver, goal="Add.", output_type=Sum) as agent:
        run = agent.arun_stream("2+3")
        await play(run, official)
        result = await run.result()
    assert result.output == Sum(5)
    assert result.result == {"goal_met": True, "summary": "Added.", "output": {"total": 5}}
