"""Handoffs and sub-agents on a server: defined over REST or in a module, run by workers, bounded by the pinned team."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from agio import Agent, ScriptedCall, ScriptedDriver, ScriptedTurn, handoff
from agio.core.run.fold import Fold, fold_log
from agio.protocol.codec import decode_lines
from agio.protocol.events import AgentEvent, SubagentFinished
from agio.testing import Call, Reply
from agio.testing.capture import ModelCall
from agio.worker.app import App
from tests.flows.server.home import Home, every_home, open_home
from tests.flows.server.talk import SseTalk, open_talk
from tests.support.official import OfficialVerifier, check_flow
from tests.support.served import LinkKind
from tests.support.streams import customs

HAND_OVER = Reply("One moment.", tool_calls=[Call("transfer_to_billing", {"reason": "money"})])


async def make_team(home: Home, **billing: object) -> tuple[str, str]:
    """Add `desk`, which hands over to `billing` and may ask `clerk`."""
    clerk = await home.create_agent(name="clerk", system_prompt="You are the clerk.", tools=["clock"])
    other = await home.create_agent(
        name="billing", system_prompt="You are billing.", model_name="bigger", tools=["calculator"], **billing
    )
    handoffs = [
        {"agent": other, "description": "For money."},
        {"agent": "clerk", "mode": "tool", "tool": "ask_clerk"},
    ]
    desk = await home.create_agent(name="desk", tools=["echo_context"], handoffs=handoffs)
    view = await home.ask("GET", f"/api/agents/{desk}")
    assert [each["agent"] for each in cast("list[dict[str, str]]", view["handoffs"])] == [other, clerk]
    return desk, other


def prompts(home: Home) -> list[tuple[str, str, list[str]]]:
    """The model, the instructions' first line and the tools of each request."""
    return [(call.model, call.system.splitlines()[0], call.tool_names) for call in home.model.calls]


@pytest.mark.parametrize("door", ["websocket", "sse", "ag-ui"])
async def test_a_handoff_is_seen_at_every_door_and_the_session_stays_with_the_agent(
    database: str | Path, link: LinkKind, door: str, official: OfficialVerifier
) -> None:
    """S7: instructions, model and tools are the next agent's; a new message goes to it; the run says so."""
    async with open_home(database, link) as home:
        desk, _ = await make_team(home)
        talk = await open_talk(door, home, desk)
        home.model.script(
            HAND_OVER, Reply(tool_calls=[Call("calculator", {"expression": "2+2"})]), Reply("4 EUR.")
        )
        events: list[AgentEvent] = decode_lines(b"".join(await talk.say("My money")))
        check_flow(events, official)
        [given] = customs(events, "agio.handoff")
        assert (given["from"], given["to"], given["filter"]) == ("desk", "billing", "all")
        home.model.script(Reply("Bye."))
        more: list[AgentEvent] = decode_lines(b"".join(await talk.say("Thanks")))
        assert more[0].metadata
        assert more[0].metadata["agent"] == "billing"
        first, second, _, last = prompts(home)
        assert first == ("test", "Be brief.", ["echo_context", "transfer_to_billing", "ask_clerk"])
        assert second == last == ("bigger", "You are billing.", ["calculator"])
        await talk.close()
        runs = cast("list[dict[str, str]]", (await home.ask("GET", "/api/runs"))["items"])
        log = await home.gateway.store.get_log(runs[0]["id"])
        assert log.info.active_agent == "billing"
        fold = fold_log(Fold(), log)
        assert (fold.agent, log.info.log_level) == ("billing", 4)
        assert home.model.problems == []


async def test_two_agents_are_asked_at_once_each_with_tools_of_its_own(
    database: str | Path, link: LinkKind, official: OfficialVerifier
) -> None:
    """S7, R7: sub-agents in lanes; a gateway tool runs for the agent that has it, and for no other."""
    async with open_home(database, link) as home:
        _, other = await make_team(home)
        boss = await home.create_agent(
            handoffs=[{"agent": "clerk", "mode": "tool"}, {"agent": other, "mode": "tool", "tool": "sums"}],
        )
        talk = await open_talk("sse", home, boss)
        asked = [Call("ask_clerk", {"input": "time"}), Call("sums", {"input": "2+2"})]

        def turn(call: ModelCall) -> Reply:
            system, is_done = call.system.splitlines()[0], call.messages[-1][0] == "tool"
            if system == "Be brief.":
                return Reply("Done.") if is_done else Reply(tool_calls=asked)
            call_made = Call("clock", {}) if "clerk" in system else Call("calculator", {"expression": "2+2"})
            return Reply(f"{call_made.name} says so.") if is_done else Reply(tool_calls=[call_made])

        home.model.answer(turn)
        events: list[AgentEvent] = decode_lines(b"".join(await talk.say("Go")))
        check_flow(events, official)
        results = [str(event.result) for event in events if isinstance(event, SubagentFinished)]
        assert sorted(results) == ["calculator says so.", "clock says so."]


@every_home
async def test_a_handoff_survives_a_restart_and_an_approval(database: str | Path, link: LinkKind) -> None:
    """B1, B7: the server stops while the new agent's question is open; the answer run is that agent's."""
    async with open_home(database, link) as home:
        desk, _ = await make_team(home, approval="ask")
        talk = await open_talk("sse", home, desk)
        home.model.script(HAND_OVER, Reply(tool_calls=[Call("calculator", {"expression": "2+2"})]))
        await talk.say("My money")
    async with open_home(database, link) as home:
        again = SseTalk(home, talk.session_id)
        again.last_pos = cast("SseTalk", talk).last_pos
        home.model.script(Reply("4 EUR."))
        asked = await home.ask("GET", f"/api/agent-sessions/{talk.session_id}/interrupts")
        [question] = cast("list[dict[str, str]]", asked["items"])
        assert question["message"] == "billing wants to run calculator"
        await again.answer([{"interrupt_id": question["id"], "approved": True}])
        assert [prompt[:2] for prompt in prompts(home)] == [("bigger", "You are billing.")]


async def test_handoffs_that_cannot_be_are_refused_or_said(database: str | Path, link: LinkKind) -> None:
    """S7: to itself, to a stranger, twice; an agent that was deactivated or deleted is missing, and said to be."""
    async with open_home(database, link) as home:
        desk, other = await make_team(home)
        view = await home.ask("GET", f"/api/agents/{desk}")
        keep = {name: view[name] for name in ("name", "system_prompt", "model_provider", "model_name")}
        for handoffs, words in (
            ([{"agent": "desk"}], "itself"),
            ([{"agent": desk}], "itself"),
            ([{"agent": "nobody"}], "no agent nobody"),
            ([{"agent": other}, {"agent": "billing"}], "twice"),
        ):
            refused = await home.ask("PUT", f"/api/agents/{desk}", {**keep, "handoffs": handoffs}, expect=422)
            error = cast("dict[str, str]", refused["error"])
            assert (error["code"], words in error["message"]) == ("invalid_handoff", True)
        talk = await open_talk("sse", home, desk)
        fields = await home.ask("GET", f"/api/agents/{other}")
        changed = {name: fields[name] for name in ("name", "system_prompt", "model_provider", "model_name")}
        await home.ask("PUT", f"/api/agents/{other}", {**changed, "status": "inactive"})
        home.model.script(Reply("Alone."))
        events: list[AgentEvent] = decode_lines(b"".join(await talk.say("Hi")))
        [notice] = customs(events, "agio.notice")
        assert notice["code"] == "agent_unavailable"
        assert "billing" in str(notice["message"])
        await home.ask("DELETE", f"/api/agents/{other}", expect=204)
        home.model.script(Reply("Alone again."))
        events = decode_lines(b"".join(await talk.say("Hi")))
        assert len(customs(events, "agio.notice")) == 1
        assert prompts(home)[-1][2] == ["ask_clerk"] or "transfer_to_billing" not in prompts(home)[-1][2]


async def test_an_edit_of_the_team_changes_no_run_under_way(database: str | Path, link: LinkKind) -> None:
    """S7: law 15: the team is pinned with the run: the agent handed over to is the one of before."""
    async with open_home(database, link) as home:
        desk, other = await make_team(home)
        talk = await open_talk("sse", home, desk)
        gate = asyncio.Event()
        home.model.script(
            Reply("One moment.", tool_calls=[Call("transfer_to_billing", {"reason": "x"})], gate=gate),
            Reply("4."),
        )
        reading = await talk.begin("My money")
        await home.model.wait_for_calls()
        fields = await home.ask("GET", f"/api/agents/{other}")
        changed = {name: fields[name] for name in ("name", "model_provider", "model_name")}
        await home.ask("PUT", f"/api/agents/{other}", {**changed, "system_prompt": "You are new."})
        gate.set()
        await reading
        assert prompts(home)[-1][1] == "You are billing."


async def test_a_team_of_a_module_is_served(database: str | Path, link: LinkKind) -> None:
    """S7: agents in code hand over as those of the team do; the ones they name are served too."""
    billing = Agent("billing", "Money.", model=ScriptedDriver([ScriptedTurn("Paid."), ScriptedTurn("Bye.")]))
    first = ScriptedTurn(calls=[ScriptedCall("transfer_to_billing", {"reason": "x"})])
    desk = Agent("front", "Greet.", model=ScriptedDriver([first]), handoffs=[handoff(billing, "For money.")])
    app = App({"front": desk, "billing": billing})
    async with open_home(database, link, app=app) as home:
        agents = cast("list[dict[str, str]]", (await home.ask("GET", "/api/agents?search=front"))["items"])
        talk = await open_talk("sse", home, agents[0]["id"])
        events: list[AgentEvent] = decode_lines(b"".join(await talk.say("Pay")))
        assert [given["to"] for given in customs(events, "agio.handoff")] == ["billing"]
        done = await home.ask("POST", "/api/agent/run", {"agent": agents[0]["id"], "input": "x"}, expect=502)
        assert done["error"]


@every_home
async def test_a_session_remembers_who_has_it(database: str | Path, link: LinkKind) -> None:
    """S7: also after a run that never began to answer, on each path its own, and until that agent is deleted."""
    async with open_home(database, link) as home:
        desk, other = await make_team(home)
        talk = cast("SseTalk", await open_talk("sse", home, desk))
        session = f"/api/agent-sessions/{talk.session_id}"

        async def active() -> object:
            return (await home.ask("GET", session))["active_agent"]

        assert await active() is None
        home.model.script(HAND_OVER, Reply("4 EUR."))
        await talk.say("My money")
        assert await active() == "billing"
        messages = cast("list[dict[str, dict[str, object]]]", (await home.ask("GET", session))["messages"])
        [mark] = [each["message"] for each in messages if each["message"]["role"] == "activity"]
        assert mark["activityType"] == "agio.handoff"
        assert cast("dict[str, str]", mark["content"])["to"] == "billing"

        gate = asyncio.Event()
        home.model.script(Reply("Still here.", gate=gate))
        reading = await talk.begin("Are you there?")
        await home.model.wait_for_calls(3)
        assert await active() == "billing"
        queued = await home.ask("POST", f"{session}/message", {"content": "Never mind."}, expect=202)
        await home.ask("POST", f"/api/runs/{queued['run_id']}/cancel", expect=202)
        gate.set()
        await reading
        await talk.read(str(queued["run_id"]))
        assert await active() == "billing"

        runs = cast("list[dict[str, str]]", (await home.ask("GET", "/api/runs"))["items"])
        assert [run["active_agent"] for run in runs] == ["billing"] * 3
        home.model.script(Reply("Mine alone."))
        again = await home.ask("POST", f"/api/runs/{runs[-1]['id']}/regenerate", {}, expect=202)
        await talk.read(str(again["run_id"]))
        assert (prompts(home)[-1][1], await active()) == ("Be brief.", None)

        await home.ask("PATCH", session, {"leaf_run_id": runs[0]["id"]})
        assert await active() == "billing"
        await home.ask("DELETE", f"/api/agents/{other}", expect=204)
        home.model.script(Reply("The desk again."))
        events: list[AgentEvent] = decode_lines(b"".join(await talk.say("Hello?")))
        codes = {str(notice["code"]) for notice in customs(events, "agio.notice")}
        assert (prompts(home)[-1][1], codes) == ("Be brief.", {"agent_unavailable"})
        [back] = customs(events, "agio.handoff")
        assert (back["from"], back["to"], await active()) == ("billing", "desk", None)


@every_home
async def test_a_question_of_a_sub_agent_is_answered_after_a_restart(
    database: str | Path, link: LinkKind
) -> None:
    """S7, B7: one of two agents asked at once waits for a person; the answer run calls nothing twice."""

    def turn(call: ModelCall) -> Reply:
        is_done = call.messages[-1][0] == "tool"
        match call.system.splitlines()[0]:
            case "You are billing.":
                asked = Call("calculator", {"expression": "2+2"})
                return Reply("It is 4.") if is_done else Reply(tool_calls=[asked])
            case "You are the clerk.":
                return Reply("It is noon.")
            case _ if is_done:
                return Reply("Noon, and 4.")
            case _:
                asked = [Call("ask_clerk", {"input": "time"}), Call("ask_billing", {"input": "2+2"})]
                return Reply(tool_calls=asked)

    async with open_home(database, link) as home:
        await make_team(home, approval="ask")
        boss = await home.create_agent(
            handoffs=[{"agent": name, "mode": "tool"} for name in ("clerk", "billing")]
        )
        home.model.answer(turn)
        talk = cast("SseTalk", await open_talk("sse", home, boss))
        await talk.say("Go")
    async with open_home(database, link) as home:
        home.model.answer(turn)
        again = SseTalk(home, talk.session_id)
        again.last_pos = talk.last_pos
        asked = await home.ask("GET", f"/api/agent-sessions/{talk.session_id}/interrupts")
        [question] = cast("list[dict[str, str]]", asked["items"])
        assert question["message"] == "billing wants to run calculator"
        answer = [{"interrupt_id": question["id"], "approved": True}]
        events: list[AgentEvent] = decode_lines(b"".join(await again.answer(answer)))
        results = [event.result for event in events if isinstance(event, SubagentFinished)]
        assert results == ["It is 4."]
        assert [prompt[1] for prompt in prompts(home)] == ["You are billing.", "Be brief."]
