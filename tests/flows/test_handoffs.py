"""Handoffs: one agent gives the conversation to another. Stopped anywhere, the run ends the same."""

from collections.abc import Mapping

import pytest

from agio import AgentRunConfig, ScriptedCall, ScriptedDriver, ScriptedTurn, tool
from agio.core.engine.handoffs import MAX_HANDOFFS
from agio.core.engine.runner import AgentRunner
from agio.core.engine.team import Member
from agio.core.handoff import Handoff, edges_of
from agio.core.model import ModelRequest
from agio.core.run.fold import Fold, fold_log
from agio.core.run.spec import AgentSpec, RunRequest
from agio.core.store.repository import RunLog
from agio.db.repository import Repository, open_store
from agio.execution.tool_executor import ToolExecutor
from agio.protocol.events import AgentEvent, ToolCallResult
from agio.protocol.messages import (
    AssistantMessage,
    FunctionCall,
    ResumeEntry,
    ToolCall,
    ToolMessage,
    UserMessage,
    text_of,
)
from tests.flows.scene import stopped
from tests.support.official import OfficialVerifier, check_flow
from tests.support.streams import customs

Turns = list[ScriptedTurn]
TO_BILLING = ScriptedCall("transfer_to_billing", {"reason": "a refund"})
REFUND: dict[str, Turns] = {
    "desk": [
        ScriptedTurn("One moment.", calls=[ScriptedCall("look_up", {"order": "A-7"})]),
        ScriptedTurn(calls=[TO_BILLING]),
    ],
    "billing": [ScriptedTurn(calls=[ScriptedCall("refund", {"order": "A-7"})]), ScriptedTurn("Refunded.")],
}


class Shop:
    """A desk that can hand over to `billing`, which can hand back. Each agent says its turns in order."""

    def __init__(
        self,
        repository: Repository,
        scripts: Mapping[str, Turns],
        *,
        kept: str = "all",
        approval: str = "never",
        said: Mapping[str, int] | None = None,
    ) -> None:
        self.repository = repository
        self.requests: list[tuple[str, ModelRequest]] = []
        self.done: list[str] = []
        self._scripts = scripts
        self._said = dict(said or {})
        desk = Handoff("desk")
        billing = Handoff("billing", description="For money.", filter=kept)  # type: ignore[arg-type]

        @tool(effect="read")
        async def look_up(order: str) -> str:
            """Look up an order."""
            return f"{order}: two apples"

        @tool(effect="idempotent", approval=approval)  # type: ignore[call-overload]
        async def refund(order: str) -> str:
            """Refund an order."""
            self.done.append(order)
            return "done"

        self.members = {
            name: Member(
                AgentSpec(name, f"You are {name}.", "scripted", f"{name}-model", config=config),
                self._driver(name),
                ToolExecutor([own], config, repository),
                edges=edges_of([edge], [own.name]),
            )
            for name, own, edge, config in (
                ("desk", look_up, billing, AgentRunConfig(max_steps=40)),
                ("billing", refund, desk, AgentRunConfig(max_steps=2 if kept == "all" else 40)),
            )
        }

    def runner(self, **missing: bool) -> AgentRunner:
        """Make the desk's runner; the team is without the `missing`."""
        desk = self.members["desk"]
        team = {name: member for name, member in self.members.items() if not missing.get(name)}
        return AgentRunner(desk.spec, desk.driver, desk.tools, self.repository, edges=desk.edges, team=team)

    def boss(self) -> AgentRunner:
        """Make the runner of an agent that asks the desk like a tool."""
        config = AgentRunConfig()
        spec = AgentSpec("boss", "You are boss.", "scripted", "boss-model", config=config)
        tools = ToolExecutor((), config, self.repository)
        edges = edges_of([Handoff("desk", "tool")], ())
        return AgentRunner(spec, self._driver("boss"), tools, self.repository, edges=edges, team=self.members)

    def _driver(self, name: str) -> ScriptedDriver:
        def turn(request: ModelRequest) -> ScriptedTurn:
            self.requests.append((name, request))
            said = self._said.get(name, 0)
            self._said[name] = said + 1
            return self._scripts[name][said]

        return ScriptedDriver(turn)


def asked(run_id: str = "run_x", text: str = "My money back", **more: object) -> RunRequest:
    messages = [] if "resume" in more else [UserMessage(id=f"u_{run_id}", content=text)]
    return RunRequest(session_id="thr_1", run_id=run_id, messages=messages, mark="m" * 16, **more)  # type: ignore[arg-type]


async def played(
    shop: Shop, request: RunRequest, history: Fold | None = None
) -> tuple[list[AgentEvent], RunLog]:
    events = [event async for event in shop.runner().run_stream(request, history)]
    return events, await shop.repository.get_log(request.run_id)


def turns_of(log: RunLog) -> dict[str, int]:
    """How many turns each agent has finished."""
    names = [turn.model.partition(":")[2].removesuffix("-model") for turn in log.turns]
    return {name: names.count(name) for name in names}


async def test_a_handoff_stopped_after_every_event_ends_the_same(official: OfficialVerifier) -> None:
    """S7, B1: the next request has the new agent's instructions, model and tools; the session stays with it."""
    shop = Shop(await open_store(":memory:"), REFUND)
    events, log = await played(shop, asked())
    check_flow(events, official)
    whole = fold_log(Fold(), log)
    assert [name for name, _ in shop.requests] == ["desk", "desk", "billing", "billing"]
    request = shop.requests[2][1]
    assert request.system.startswith("You are billing.")
    assert (request.model, [spec.name for spec in request.tools]) == (
        "billing-model",
        ["refund", "transfer_to_desk"],
    )
    [handoff] = customs(events, "agio.handoff")
    assert {**handoff, "call": ""} == {
        "from": "desk",
        "to": "billing",
        "filter": "all",
        "reason": "a refund",
        "call": "",
    }
    assert (whole.agent, whole.text, shop.done, log.info.log_level) == ("billing", "Refunded.", ["A-7"], 4)
    for stop in range(1, len(events)):
        repository = await stopped(events[:stop], [turn for turn in log.turns if turn.seq <= stop])
        left = await repository.get_log("run_x")
        again = Shop(repository, REFUND, said=turns_of(left))
        more = [event async for event in again.runner().resume(left)]
        check_flow([*events[:stop], *more], official)
        stored = await repository.get_log("run_x")
        fold = fold_log(Fold(), stored)
        assert bare(fold) == bare(whole), f"after event {stop}"
        assert (fold.agent, fold.handoffs, turns_of(stored)) == ("billing", 1, {"desk": 2, "billing": 2})
        await repository.close()
    later, _ = await played(
        shop_after(shop, ScriptedTurn("You are welcome.")), asked("run_y", "Thanks"), whole
    )
    assert later[0].metadata["agent"] == "billing"  # type: ignore[index]
    await shop.repository.close()


async def test_a_sub_agent_that_hands_over_stopped_after_every_event_ends_the_same(
    official: OfficialVerifier,
) -> None:
    """S7, B1: the handoff is its lane's: the answer is the next agent's, and the caller keeps the conversation."""
    asked_desk = ScriptedTurn(calls=[ScriptedCall("ask_desk", {"input": "Money back for A-7."})])
    scripts = {"boss": [asked_desk, ScriptedTurn("All is well.")], **REFUND}
    shop = Shop(await open_store(":memory:"), scripts)
    events = [event async for event in shop.boss().run_stream(asked())]
    check_flow(events, official)
    log = await shop.repository.get_log("run_x")
    for stop in range(1, len(events) + 1):
        repository = await stopped(events[:stop], [turn for turn in log.turns if turn.seq <= stop])
        left = await repository.get_log("run_x")
        again = Shop(repository, scripts, said=turns_of(left))
        if stop < len(events):
            more = [event async for event in again.boss().resume(left)]
            check_flow([*events[:stop], *more], official)
        fold = fold_log(Fold(), await repository.get_log("run_x"))
        [lane] = fold.lanes.values()
        assert (lane.agent, lane.result, lane.state) == ("billing", "Refunded.", "finished"), stop
        assert (fold.agent, fold.text, fold.handoffs) == ("", "All is well.", 1), stop
        await repository.close()
    await shop.repository.close()


def bare(fold: Fold) -> list[tuple[str, str]]:
    """What was asked and answered."""
    said = (message for message in fold.messages if isinstance(message, UserMessage | ToolMessage))
    return [(message.role, text_of(message.content)) for message in said]


def shop_after(shop: Shop, turn: ScriptedTurn) -> Shop:
    return Shop(shop.repository, {"desk": [], "billing": [turn]})


@pytest.mark.parametrize(
    ("kept", "seen"),
    [
        ("all", ["user", "assistant", "tool", "assistant", "tool"]),
        ("no_tools", ["user", "assistant"]),
        ("last_message", ["user"]),
    ],
)
async def test_a_filter_decides_what_the_next_agent_sees(kept: str, seen: list[str]) -> None:
    """S7: the filter is in the log; the log keeps everything, and a later run sees the same."""
    shop = Shop(await open_store(":memory:"), REFUND, kept=kept)
    _, log = await played(shop, asked())
    given = shop.requests[2][1].messages
    assert [message.role for message in given] == seen
    fold = fold_log(Fold(), log)
    assert len(fold.messages) == 8
    again = shop_after(shop, ScriptedTurn("You are welcome."))
    await played(again, asked("run_y", "Thanks"), fold)
    told = [message.role for message in again.requests[0][1].messages]
    assert told == [*seen, "assistant", "tool", "assistant", "user"]
    await shop.repository.close()


async def test_a_filter_that_would_leave_nothing_refuses_the_handoff() -> None:
    """S7: a run that begins with a tool's result, and has no message of the user's to pass on."""
    script = {"desk": [ScriptedTurn(calls=[TO_BILLING]), ScriptedTurn("Mine, then.")]}
    shop = Shop(await open_store(":memory:"), script, kept="last_message")
    call = ToolCall("call_1", FunctionCall("pay", "{}"))
    history = Fold([AssistantMessage(id="msg_1", tool_calls=[call])])
    paid = ToolMessage(id="res_1", content="paid", tool_call_id="call_1")
    request = RunRequest(session_id="thr_1", run_id="run_x", messages=[paid], mark="m" * 16)
    events, log = await played(shop, request, history)
    [result] = [event for event in events if isinstance(event, ToolCallResult)]
    assert result.metadata
    assert (result.metadata["error"], fold_log(Fold(), log).text) == ("handoff_empty", "Mine, then.")
    await shop.repository.close()


async def test_an_approval_after_a_handoff_is_the_new_agents(official: OfficialVerifier) -> None:
    """B7: the answer run begins with the agent that asked, and does not hand over again."""
    shop = Shop(await open_store(":memory:"), REFUND, approval="ask")
    events, log = await played(shop, asked())
    fold = fold_log(Fold(), log)
    [question] = fold.interrupts.values()
    assert question.message == "billing wants to run refund"
    resume = [ResumeEntry(question.id, "resolved", {"approved": True})]
    more, _ = await played(shop, asked("run_y", resume=resume), fold)
    check_flow(more, official, known_calls=[str(question.tool_call_id)])
    assert ([name for name, _ in shop.requests][-1], shop.done) == ("billing", ["A-7"])
    assert customs(events, "agio.handoff")
    assert not customs(more, "agio.handoff")
    await shop.repository.close()


async def test_handoffs_that_cannot_be_are_answers_to_the_model() -> None:
    """S7: two at once, a cycle without end, and an agent that has gone; each is said, and the run continues."""
    back = ScriptedCall("transfer_to_desk", {"reason": "not mine"})
    cycle = {
        "desk": [
            ScriptedTurn(calls=[TO_BILLING, TO_BILLING]),
            *[ScriptedTurn(calls=[TO_BILLING]) for _ in range(MAX_HANDOFFS)],
        ],
        "billing": [*[ScriptedTurn(calls=[back]) for _ in range(MAX_HANDOFFS // 2)], ScriptedTurn("Never.")],
    }
    cycle["desk"][MAX_HANDOFFS // 2 + 1] = ScriptedTurn("Enough.")
    shop = Shop(await open_store(":memory:"), cycle, kept="no_tools")
    events, log = await played(shop, asked())
    results = [event for event in events if isinstance(event, ToolCallResult)]
    errors = [
        result.metadata["error"] for result in results if result.metadata and "error" in result.metadata
    ]
    assert errors == ["not_run", "too_many_handoffs"]
    assert len(customs(events, "agio.handoff")) == MAX_HANDOFFS
    fold = fold_log(Fold(), log)
    assert (fold.status, fold.text, fold.agent) == ("completed", "Enough.", "desk")

    handed = fold_log(Fold(), log)
    handed.agent = "billing"
    alone = Shop(shop.repository, {"desk": [ScriptedTurn("Hello.")]})
    events = [event async for event in alone.runner(billing=True).run_stream(asked("run_z"), handed)]
    assert [notice["code"] for notice in customs(events, "agio.notice")] == ["agent_unavailable"] * 2
    assert [handoff["to"] for handoff in customs(events, "agio.handoff")] == ["desk"]
    await shop.repository.close()
