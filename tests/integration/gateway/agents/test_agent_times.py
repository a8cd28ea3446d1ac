"""How long a tool of the gateway's may take, as its agent says."""

import asyncio

import pytest

from agio.core.config import AgentLimits
from agio.core.store.records import AgentFields, AgentTool
from agio.core.tool import tool
from tests.support.engine import Hand, engine, soon


@tool(effect="read")
async def linger() -> str:
    """Never come back."""
    await asyncio.Event().wait()
    return ""


@tool(effect="read", timeout_s=0.01)
async def hasten() -> str:
    """Never come back either, and say so."""
    await asyncio.Event().wait()
    return ""


@pytest.mark.parametrize(("name", "agents_s"), [("linger", 0.05), ("hasten", 3600)])
async def test_a_tool_of_the_gateways_is_stopped_in_time(name: str, agents_s: float) -> None:
    """L12, C6: at the agent's time, or at the tool's own; the worker is told the same time."""
    async with engine(tools={"linger": linger, "hasten": hasten}) as room:
        await room.session()
        fields = AgentFields(
            name="a",
            system_prompt="x",
            model_provider="demo",
            model_name="demo",
            tools=[AgentTool(name)],
            limits=AgentLimits(tool_timeout_s=agents_s),
        )
        agent = await room.store.create_agent("default", fields)
        session = await room.store.start_session("default", "ann", agent.id)
        worker, link, _ = await room.join()
        await room.say(session)
        hand = Hand(link, await worker.next_job())
        (offer,) = hand.job.tools
        assert offer.timeout_s == (0.05 if name == "linger" else 0.01)
        key = await hand.ask(name, effect="read")
        reply = await soon(link.call_tool(hand.claim, key, name, {}))
        assert reply.error == "tool_timeout"
