"""Teams in Python: agents that hand over to others or call them, without a server."""

import pytest

from agio import Agent, ScriptedCall, ScriptedDriver, ScriptedTurn, UserError, handoff


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
