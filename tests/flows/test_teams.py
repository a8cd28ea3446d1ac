"""Teams in Python: agents that hand over to others or call them, without a server."""

import asyncio

import pytest

from agio import (
    Agent,
    AgentRunConfig,
    LimitExceeded,
    ScriptedCall,
    ScriptedDriver,
    ScriptedTurn,
    UserError,
    handoff,
)
from agio.core.model import ModelRequest, Usage
from agio.protocol.events import SubagentStarted, ToolCallResult
from agio.protocol.messages import ToolMessage, text_of


async def test_a_team_in_python_hands_over_asks_and_remembers_who_is_active() -> None:
    """S7, L7: a handoff and an agent as a tool; the thread goes on with the agent that has it."""
    billing_model = ScriptedDriver(
        [
            ScriptedTurn(calls=[ScriptedCall("look_up", {"input": "A-7"})]),
            ScriptedTurn("You get 2 EUR."),
            ScriptedTurn("You are welcome."),
        ]
    )
    clerk = Agent("clerk", "Look up orders.", model=ScriptedDriver([ScriptedTurn("A-7 cost 2 EUR.")]))
    billing = Agent("billing", "Handle money.", model=billing_model, tools=[clerk.as_tool("look_up")])
    desk_model = ScriptedDriver(
        [ScriptedTurn(calls=[ScriptedCall("transfer_to_billing", {"reason": "money"})])]
    )
    desk = Agent(
        "desk", "Greet.", model=desk_model, handoffs=[handoff(billing, "For money.", filter="no_tools")]
    )
    billing.handoffs.append(desk)
    async with desk:
        assert await desk.arun("Where is my money?", thread_id="thr_1") == "You get 2 EUR."
        assert await desk.arun("Thanks!", thread_id="thr_1") == "You are welcome."
    [offered] = desk_model.requests[0].tools
    assert offered.description.endswith("in your place. For money.")
    assert [spec.name for spec in billing_model.requests[-1].tools] == ["look_up", "transfer_to_desk"]


def test_a_team_that_cannot_be_is_refused() -> None:
    """S7: two agents of one name, and an agent that hands over to itself."""
    with pytest.raises(UserError, match="Two agents are named a"):
        Agent("b", handoffs=[Agent("a"), Agent("a")])
    alone = Agent("a")
    alone.handoffs.append(alone)
    with pytest.raises(UserError, match="cannot hand over to itself"):
        alone.team()


def asking(agent: str, times: int = 1) -> ScriptedDriver:
    """A model that asks an agent, and then says what it was answered."""

    def turn(request: ModelRequest) -> ScriptedTurn:
        last = request.messages[-1]
        if isinstance(last, ToolMessage):
            return ScriptedTurn(text_of(last.content))
        return ScriptedTurn(calls=[ScriptedCall(f"ask_{agent}", {"input": "Do it."})] * times)

    return ScriptedDriver(turn)


async def played(agent: Agent) -> tuple[list[SubagentStarted], list[str], str]:
    """Run an agent; return the agents that it started, the error codes of the calls, and its answer."""
    async with agent:
        run = agent.arun_stream("Go")
        events = [event async for event in run]
        results = [event for event in events if isinstance(event, ToolCallResult)]
        told = [result.metadata or {} for result in results]
        codes = [str(metadata["error"]) for metadata in told if "error" in metadata]
        started = [event for event in events if isinstance(event, SubagentStarted)]
        return started, codes, str((await run.result()).text)


async def test_agents_that_ask_each_other_in_a_circle_stop_three_deep() -> None:
    """S7: the fourth is told to do the task itself; each answer goes back to the one that asked."""
    ping = Agent("ping", model=asking("pong"))
    pong = Agent("pong", model=asking("ping"), tools=[ping.as_tool()])
    ping.handoffs.append(pong.as_tool())
    started, codes, text = await played(Agent("boss", model=asking("ping"), tools=[ping.as_tool()]))
    assert [each.name for each in started] == ["ping", "pong", "ping"]
    assert (codes, "3 deep" in text) == (["too_deep"], True)


async def test_a_run_starts_sixteen_agents() -> None:
    """S7: the seventeenth call is answered with a clear error, and the run goes on."""
    clerk = Agent("clerk", model=ScriptedDriver(lambda _: ScriptedTurn("Done.")))
    boss = Agent("boss", model=asking("clerk", 17), tools=[clerk.as_tool()])
    started, codes, text = await played(boss)
    assert (len(started), codes) == (16, ["too_many_agents"])
    assert "The run has started all of its 16 agents." in text


@pytest.mark.parametrize(
    ("config", "code"),
    [
        (AgentRunConfig(max_steps=2), "step_limit"),
        (AgentRunConfig(max_tokens=40), "token_budget"),
        (AgentRunConfig(run_timeout_s=0.2), "time_budget"),
    ],
)
async def test_each_agent_has_limits_of_its_own(config: AgentRunConfig, code: str) -> None:
    """S7, L10: a sub-agent over its steps, tokens or time fails, and its caller, which has more of each, answers."""
    held = asyncio.Event() if code == "time_budget" else None
    turn = ScriptedTurn("Looking.", calls=[ScriptedCall("look")], waits=held)

    def look() -> str:
        """Look."""
        return "nothing"

    model = ScriptedDriver(lambda _: turn)
    clerk = Agent("clerk", "", model=model, tools=[look], config=config)
    _, codes, text = await played(Agent("boss", model=asking("clerk"), tools=[clerk.as_tool()]))
    assert (codes, "clerk failed: " in text) == ([code], True)
    assert len(model.requests) <= 2


async def test_a_sub_agent_counts_towards_the_limit_of_its_caller() -> None:
    """S7: the budget of a run covers all of its agents."""
    clerk = Agent("clerk", model=ScriptedDriver(lambda _: ScriptedTurn("Done.", usage=Usage(900, 100))))
    boss = Agent(
        "boss", model=asking("clerk"), tools=[clerk.as_tool()], config=AgentRunConfig(max_tokens=1000)
    )
    async with boss:
        with pytest.raises(LimitExceeded, match=r"The run has used 1015 of its 1000 tokens\."):
            await boss.arun("Go")


async def test_after_a_handoff_the_limits_of_the_next_agent_apply() -> None:
    """S7: its tokens; the desk's own limit is not asked any more."""
    model = ScriptedDriver([ScriptedTurn("Paid.", usage=Usage(600, 0)), ScriptedTurn("Bye.")])
    billing = Agent("billing", model=model, config=AgentRunConfig(max_tokens=1000))
    given = ScriptedTurn(calls=[ScriptedCall("transfer_to_billing", {"reason": "x"})], usage=Usage(500, 0))
    desk = Agent("desk", model=ScriptedDriver([given] * 2), handoffs=[billing])
    async with desk:
        assert await desk.arun("Go", thread_id="thr_1") == "Paid."
    billing = Agent("billing", model=ScriptedDriver([]), config=AgentRunConfig(max_tokens=400))
    desk = Agent("desk", model=ScriptedDriver([given]), handoffs=[billing])
    async with desk:
        with pytest.raises(LimitExceeded, match="500 of its 400 tokens"):
            await desk.arun("Go")
