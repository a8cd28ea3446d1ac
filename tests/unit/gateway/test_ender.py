"""Runs that are ended without a worker: their logs are closed as one would have closed them."""

import asyncio

from agio.core.records import AgentTool
from agio.core.tool import tool
from agio.protocol.codec import decode_lines
from agio.protocol.events import ToolCallResult
from agio.protocol.grammar import Grammar
from tests.unit.gateway.engine import ANN, Hand, engine, soon


@tool
async def pay() -> str:
    """Pay, slowly."""
    await asyncio.Event().wait()
    return ""


async def test_a_call_that_may_have_taken_effect_is_said_to_be_unknown() -> None:
    """L14, L13: the one that acted and the one that never began get different results."""
    async with engine(tools={"pay": pay}) as room:
        session = await room.session(tools=[AgentTool("pay")])
        worker, link, _ = await room.join()
        accepted = await room.say(session)
        hand = Hand(link, await worker.next_job())
        key = await hand.ask("pay")
        asked = asyncio.ensure_future(link.call_tool(hand.claim, key, "pay", {}))
        await room.road.cancel(ANN, run_id=accepted.run_id)
        assert (await soon(asked)).error == "cancelled"
        info = await room.ended(session, accepted.run_id)
        assert info.status == "cancelled"
        events = decode_lines(await room.read(session, info.last_seq))
        Grammar().check_stream(events)
        (result,) = [event for event in events if isinstance(event, ToolCallResult)]
        assert "unknown whether it took effect" in str(result.content)
        (record,) = await room.store.list_tool_executions("default", "ann", accepted.run_id)
        assert (record.state, record.error) == ("finished", "unknown")


async def test_the_session_goes_on_after_a_run_was_ended_for_its_worker() -> None:
    """B1: the next run finds a conversation without open ends."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        first = await room.say(session, "One")
        await Hand(link, await worker.next_job()).say("I will never")
        second = await room.say(session, "Two")
        await room.road.cancel(ANN, run_id=first.run_id)
        job = await worker.next_job()
        assert job.claim.run_id == second.run_id
        hand = Hand(link, job)
        assert hand.journal.fold.pending == []
        await hand.say("Two it is")
        await hand.finish()
        last = await room.ended(session, second.run_id)
        events = decode_lines(await room.read(session, last.first_pos + last.last_seq))
        Grammar().check_stream(events)
