"""Lanes: sub-agents that run side by side on one journal. Stopped anywhere, the run ends the same."""

import asyncio
from collections.abc import Callable, Mapping

from msgspec import UNSET

from agio import AgentRunConfig, ScriptedCall, ScriptedDriver, ScriptedTurn, tool
from agio.core.engine.runner import AgentRunner, RunResult
from agio.core.engine.team import Member
from agio.core.handoff import Handoff, edges_of
from agio.core.model import ModelRequest
from agio.core.run.fold import Fold, fold_log
from agio.core.run.spec import AgentSpec, RunRequest
from agio.core.store.repository import RunLog
from agio.core.tool import AnyTool
from agio.db.repository import Repository, open_store
from agio.errors import ModelError
from agio.execution.tool_executor import ToolExecutor
from agio.protocol.events import AgentEvent, Custom, SubagentError, SubagentFinished
from agio.protocol.messages import (
    ActivityMessage,
    AssistantMessage,
    Message,
    ResumeEntry,
    ToolMessage,
    UserMessage,
    text_of,
)
from tests.flows.scene import stopped
from tests.support.official import OfficialVerifier, check_flow
from tests.support.streams import customs

Turns = list[ScriptedTurn]
SUMS: dict[str, Turns] = {
    "boss": [
        ScriptedTurn(calls=[ScriptedCall("left", {"input": "1+2"}), ScriptedCall("right", {"input": "3+4"})]),
        ScriptedTurn("3 and 7."),
    ],
    "left": [
        ScriptedTurn("Adding.", calls=[ScriptedCall("add", {"a": 1, "b": 2})]),
        ScriptedTurn("3", "Easy."),
    ],
    "right": [
        ScriptedTurn(calls=[ScriptedCall("add", {"a": 3, "b": 4}), ScriptedCall("add", {"a": 0, "b": 7})]),
        ScriptedTurn("7"),
    ],
}


class Team:
    """A boss with two agents below it, `left` and `right`; each says its turns by how many it has said."""

    def __init__(self, repository: Repository, scripts: Mapping[str, Turns], **tool_options: str) -> None:
        self.repository = repository
        self.scripts = scripts
        self.done: list[tuple[int, int]] = []
        self.fail: Callable[[str, int], None] = lambda agent, turn: None

        @tool(effect="idempotent", **tool_options)  # type: ignore[call-overload]
        async def add(a: int, b: int) -> int:
            """Add."""
            self.done.append((a, b))
            return a + b

        self.tools: list[AnyTool] = [add]

    def runner(self) -> AgentRunner:
        """Make the boss's runner."""
        below = {
            name: Member(self._spec(name), self._driver(name), self._executor()) for name in ("left", "right")
        }
        edges = edges_of([Handoff(name, "tool", "Adds.", tool=name) for name in below], ())
        spec = self._spec("boss")
        executor = ToolExecutor((), spec.config, self.repository)
        return AgentRunner(spec, self._driver("boss"), executor, self.repository, edges=edges, team=below)

    def _spec(self, name: str) -> AgentSpec:
        config = AgentRunConfig(retries={"stream_broken": 2}, backoff_s=0.0)
        return AgentSpec(name, f"You are {name}.", "scripted", name, config=config)

    def _executor(self) -> ToolExecutor:
        return ToolExecutor(self.tools, AgentRunConfig(), self.repository)

    def _driver(self, name: str) -> ScriptedDriver:
        def turn(request: ModelRequest) -> ScriptedTurn:
            said = sum(isinstance(message, AssistantMessage) for message in request.messages)
            self.fail(name, said)
            return self.scripts[name][said]

        return ScriptedDriver(turn)


def request(run_id: str = "run_x", resume: list[ResumeEntry] | None = None) -> RunRequest:
    messages = [] if resume else [UserMessage(id="u1", content="Add")]
    return RunRequest(
        session_id="thr_1", run_id=run_id, messages=messages, resume=resume or [], mark="m" * 16
    )


def told(fold: Fold) -> list[object]:
    """What every lane has said, without notices of retries, and without ids and times, which depend on the order."""

    def bare(message: Message) -> object:
        match message:
            case AssistantMessage(tool_calls=calls, content=content):
                asked = (
                    []
                    if calls is UNSET
                    else [(call.function.name, call.function.arguments) for call in calls]
                )
                return ("assistant", content, asked)
            case UserMessage(content=content) | ToolMessage(content=content):
                return (message.role, text_of(content))
            case _:
                return (message.role, message.content)

    agents = {lane.key: lane.agent for lane in fold.all_lanes}
    said = [message for message in fold.kept if not isinstance(message, ActivityMessage)]
    return [(agents[message.subagent_run_id or ""], bare(message)) for message in said]


async def played(team: Team) -> tuple[list[AgentEvent], RunLog]:
    events = [event async for event in team.runner().run_stream(request())]
    return events, await team.repository.get_log("run_x")


async def test_two_lanes_stopped_after_every_event_end_the_same(official: OfficialVerifier) -> None:
    """L10, B1: two sub-agents side by side, one of which is retried while the other goes on."""
    team = Team(await open_store(":memory:"), SUMS)
    failed: list[str] = []

    def fail(agent: str, turn: int) -> None:
        if agent == "right" and turn == 1 and not failed:
            failed.append(agent)
            raise ModelError("stream_broken", "gone", retryable=True)

    team.fail = fail
    events, log = await played(team)
    check_flow(events, official)
    whole = fold_log(Fold(), log)
    assert whole.text == "3 and 7."
    assert [(lane.agent, lane.result, lane.state) for lane in whole.lanes.values()] == [
        ("left", "3", "finished"),
        ("right", "7", "finished"),
    ]
    assert (log.info.log_level, sorted(team.done)) == (2, [(0, 7), (1, 2), (3, 4)])
    steps = [turn.step for turn in log.turns]
    assert sorted(steps) == [1, 2, 3, 4, 5, 6]
    assert {turn.lane for turn in log.turns} == {"", *whole.lanes}
    assert all(turn.digest for turn in log.turns)
    for stop in range(1, len(events)):
        for with_record in (False, True):
            turns = [turn for turn in log.turns if turn.seq < stop or (with_record and turn.seq == stop)]
            repository = await stopped(events[:stop], turns)
            again = Team(repository, SUMS)
            left = await repository.get_log("run_x")
            more = [event async for event in again.runner().resume(left)]
            check_flow([*events[:stop], *more], official)
            fold = fold_log(Fold(), await repository.get_log("run_x"))
            assert told(fold) == told(whole)
            before = fold_log(Fold(), left)
            results = {
                m.tool_call_id
                for lane in before.lanes.values()
                for m in lane.messages
                if isinstance(m, ToolMessage)
            }
            assert len(again.done) == 3 - len(results), f"a finished tool ran again after event {stop}"
            assert not any(lane.pending or lane.draft for lane in fold.all_lanes)
            await repository.close()
    await team.repository.close()


async def test_an_approval_inside_suspends_its_lane_and_the_answer_reopens_it(
    official: OfficialVerifier,
) -> None:
    """B7: one lane asks while the other ends; stopped anywhere, the question and the answer are each there once."""
    scripts = {**SUMS, "right": [ScriptedTurn("No sums needed: 7.")]}
    team = Team(await open_store(":memory:"), scripts, approval="ask")
    events, log = await played(team)
    check_flow(events, official)
    fold = fold_log(Fold(), log)
    [asked] = fold.interrupts.values()
    left, right = fold.lanes.values()
    assert (fold.status, left.state, right.state, team.done) == ("interrupted", "suspended", "finished", [])
    assert (asked.subagent_run_id, asked.tool_call_id) == (left.key, left.pending[0].id)
    for stop in range(1, len(events)):
        turns = [turn for turn in log.turns if turn.seq <= stop]
        repository = await stopped(events[:stop], turns)
        again = Team(repository, scripts, approval="ask")
        more = [event async for event in again.runner().resume(await repository.get_log("run_x"))]
        check_flow([*events[:stop], *more], official)
        resumed = fold_log(Fold(), await repository.get_log("run_x"))
        assert (list(resumed.interrupts), again.done) == ([asked.id], [])
        await repository.close()
    known = [call.id for call in (*left.pending, *fold.pending)]
    resume = [ResumeEntry(asked.id, "resolved", {"approved": True})]
    stream = team.runner().run_stream(request("run_y", resume), fold)
    answered = [event async for event in stream]
    check_flow(answered, official, known_calls=known)
    result = await stream.result()
    assert (result.status, result.text, team.done) == ("completed", "3 and 7.", [(1, 2)])
    again = fold_log(fold_log(Fold(), log), await team.repository.get_log("run_y"))
    assert [(lane.agent, lane.result) for lane in again.lanes.values()] == [
        ("left", "3"),
        ("right", "No sums needed: 7."),
    ]
    await team.repository.close()


async def test_a_sub_agent_that_fails_is_its_callers_tool_error(official: OfficialVerifier) -> None:
    """L13: a model that fails for good, bad input and depth are answers to the caller; its lane is closed."""
    scripts = {
        **SUMS,
        "boss": [
            ScriptedTurn(
                calls=[ScriptedCall("left", {"input": "1+2"}), ScriptedCall("right", {"task": "3"})]
            ),
            ScriptedTurn("Neither."),
        ],
    }
    team = Team(await open_store(":memory:"), scripts)

    def fail(agent: str, turn: int) -> None:
        if agent == "left" and turn == 1:
            raise ModelError("bad_request", "No such model.")

    team.fail = fail
    events, log = await played(team)
    check_flow(events, official)
    [ended] = [event for event in events if isinstance(event, SubagentError)]
    assert (ended.code, ended.message) == ("bad_request", "No such model.")
    results = [m for m in fold_log(Fold(), log).messages if isinstance(m, ToolMessage)]
    assert [(m.error, m.content) for m in results] == [
        ("bad_request", "left failed: No such model."),
        ("bad_arguments", "right needs the text of its task as input."),
    ]
    await team.repository.close()


async def test_cancel_closes_every_lane(official: OfficialVerifier) -> None:
    """L14: two sub-agents are in mid-turn: their lanes end, what they had said is kept."""
    begun = [asyncio.Event(), asyncio.Event()]
    never = asyncio.Event()
    scripts = {
        **SUMS,
        "left": [ScriptedTurn("Well, let me think.", waits=never)],
        "right": [ScriptedTurn("Hm, that is hard.", waits=never)],
    }
    team = Team(await open_store(":memory:"), scripts)
    team.fail = lambda agent, turn: begun[agent == "right"].set() if agent != "boss" else None
    stream = team.runner().run_stream(request())
    events: list[AgentEvent] = []
    async for event in stream:
        events.append(event)
        if all(each.is_set() for each in begun):
            stream.cancel()
    result: RunResult = await stream.result()
    check_flow(events, official)
    assert (result.status, events[-1].type) == ("cancelled", "RUN_FINISHED")
    assert [event.code for event in events if isinstance(event, SubagentError)] == ["cancelled", "cancelled"]
    assert not [event for event in events if isinstance(event, SubagentFinished)]
    assert customs(events, "agio.rewind") == []
    fold = fold_log(Fold(), await team.repository.get_log("run_x"))
    assert not any(lane.pending or lane.draft for lane in fold.all_lanes)
    assert not [event for event in events if isinstance(event, Custom) and event.name == "agio.error"]
    await team.repository.close()
