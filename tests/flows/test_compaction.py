"""Compaction: older messages give way to a summary in the log. Stopped anywhere, the run ends the same."""

import pytest

from agio import Agent, AgentRunConfig, ModelError, ScriptedCall, ScriptedDriver, ScriptedTurn, tool
from agio.core.engine.history import size_of
from agio.core.engine.runner import AgentRunner
from agio.core.model import ModelRequest, Usage
from agio.core.run.fold import Fold, fold_log
from agio.core.run.session_history import session_history
from agio.core.run.spec import AgentSpec, RunRequest
from agio.core.text import estimate_tokens
from agio.db.repository import Repository, open_store
from agio.execution.tool_executor import ToolExecutor
from agio.protocol.messages import UserMessage, text_of
from tests.flows.scene import ended, play, stopped
from tests.support.official import OfficialVerifier, check_flow
from tests.support.streams import customs

LONG = "and so on " * 20
WROTE = ScriptedTurn("The first order was A-7.", usage=Usage(100, 10))


def is_summary(request: ModelRequest) -> bool:
    return request.system.startswith("You write the summary")


def texts(request: ModelRequest) -> list[str]:
    return [text_of(message.content) for message in request.messages if isinstance(message, UserMessage)]


def talker(summary: ScriptedTurn = WROTE) -> ScriptedDriver:
    """A model that answers at length, and writes this when it is asked for a summary."""
    return ScriptedDriver(lambda request: summary if is_summary(request) else ScriptedTurn(LONG))


async def test_a_conversation_of_a_thousand_messages_fits(official: OfficialVerifier) -> None:
    """B13: each prompt keeps to the limit, summaries are few, and the log knows them."""
    driver = talker()
    config = AgentRunConfig(context_tokens=3000)
    async with Agent("tester", "Be brief.", model=driver, config=config) as agent:
        run = agent.arun_stream("My first order was A-7.")
        await play(run, official)
        summaries = 0
        for number in range(1, 500):
            run = agent.arun_stream(f"Question {number}?", thread_id=run.thread_id)
            events = [event async for event in run]
            compacted = customs(events, "agio.compacted")
            summaries += len(compacted)
            if compacted:
                check_flow(events, official)
                assert (await ended(run)).usage == Usage(110, 15)
        asked = [request for request in driver.requests if not is_summary(request)]
        for request in asked:
            sizes = sum(size_of(message) for message in request.messages)
            assert estimate_tokens(request.system) + sizes <= 3000
            assert texts(request)[-1].startswith(("My first", "Question"))
        assert 15 < summaries < 60
        assert "The first order was A-7." in texts(asked[-1])[0]
        assert texts(asked[-1])[0].startswith("<<untrusted ")
        store = await agent.repository()
        fold = await session_history(store, run.thread_id, enough=config.max_history_messages)
        assert fold.summary is not None
        assert fold.summary.text == WROTE.text


class Reader:
    """An agent that reads eight long pages, one a step, within a single run."""

    def __init__(self, repository: Repository) -> None:
        self.requests: list[ModelRequest] = []
        self.steps = 0
        self.repository = repository

        @tool(effect="read")
        async def page(number: int) -> str:
            """Read a page."""
            return f"page {number}: " + "many words " * 30

        config = AgentRunConfig(context_tokens=600, max_tool_result_bytes=2000)
        spec = AgentSpec("reader", "Read all.", "scripted", "model", config=config)
        self.runner = AgentRunner(
            spec, ScriptedDriver(self._turn), ToolExecutor([page], config, repository), repository
        )

    def _turn(self, request: ModelRequest) -> ScriptedTurn:
        self.requests.append(request)
        if is_summary(request):
            return WROTE
        number, self.steps = self.steps, self.steps + 1
        if number < 8:
            return ScriptedTurn(f"Page {number}.", calls=[ScriptedCall("page", {"number": number})])
        return ScriptedTurn("All read.")


def asked() -> RunRequest:
    question = UserMessage(id="u_1", content="Read the whole book.")
    return RunRequest(session_id="thr_1", run_id="run_x", messages=[question], mark="m" * 16)


async def test_a_long_run_stopped_after_every_event_ends_the_same(official: OfficialVerifier) -> None:
    """B13, B1: the question stays in sight, and a summary that is in the log is not written again."""
    reader = Reader(await open_store(":memory:"))
    events = [event async for event in reader.runner.run_stream(asked())]
    check_flow(events, official)
    log = await reader.repository.get_log("run_x")
    whole = fold_log(Fold(), log)
    summaries = customs(events, "agio.compacted")
    assert len(summaries) > 1
    assert log.info.log_level == 5
    assert all("Read the whole book." in texts(r)[-1] for r in reader.requests if not is_summary(r))
    for stop in range(1, len(events), 3):
        repository = await stopped(events[:stop], [turn for turn in log.turns if turn.seq <= stop])
        left = await repository.get_log("run_x")
        again = Reader(repository)
        again.steps = len(left.turns)
        more = [event async for event in again.runner.resume(left)]
        check_flow([*events[:stop], *more], official)
        fold = fold_log(Fold(), await repository.get_log("run_x"))
        assert [m.id for m in fold.messages] == [m.id for m in whole.messages], f"after event {stop}"
        assert fold.summary == whole.summary
        assert customs([*events[:stop], *more], "agio.compacted") == summaries
        await repository.close()
    await reader.repository.close()


@pytest.mark.parametrize(
    ("summary", "cause"),
    [
        (ScriptedTurn("  \n"), "empty_summary"),
        (ScriptedTurn(fails=ModelError("quota_exceeded", "No credit."), told=Usage(7, 0)), "quota_exceeded"),
    ],
)
async def test_a_summary_that_fails_is_said_and_the_run_goes_on(
    official: OfficialVerifier, summary: ScriptedTurn, cause: str
) -> None:
    """B13: history is trimmed instead, once a run, and what the call used is counted."""
    driver = talker(summary)
    async with Agent("tester", model=driver, config=AgentRunConfig(context_tokens=500)) as agent:
        run = agent.arun_stream("Begin.")
        await play(run, official)
        errors: list[object] = []
        for _ in range(9):
            run = agent.arun_stream("More.", thread_id=run.thread_id)
            errors += [error["cause"] for error in customs(await play(run, official), "agio.error")]
            assert (await ended(run)).status == "completed"
        assert errors
        assert set(errors) == {cause}
        assert (await ended(run)).usage.input > 10
        assert not any(
            is_summary(request) and "summary so far" in texts(request)[0] for request in driver.requests
        )


async def test_without_compaction_the_oldest_messages_are_left_out(official: OfficialVerifier) -> None:
    """L5: `compact_at_tokens=0`; agio.notice says how much did not fit."""
    driver = talker()
    config = AgentRunConfig(context_tokens=500, compact_at_tokens=0)
    async with Agent("tester", model=driver, config=config) as agent:
        run = agent.arun_stream("Begin.")
        await play(run, official)
        notices: list[object] = []
        for _ in range(9):
            run = agent.arun_stream("More.", thread_id=run.thread_id)
            notices += [notice["code"] for notice in customs(await play(run, official), "agio.notice")]
    assert set(notices) == {"context_trimmed"}
    assert not any(map(is_summary, driver.requests))
