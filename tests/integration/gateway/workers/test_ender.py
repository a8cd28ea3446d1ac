"""Runs that are ended without a worker: their logs are closed as one would have closed them."""

import asyncio

from agio.core.model import Usage
from agio.core.store.records import AgentTool
from agio.core.tool import tool
from agio.protocol.codec import decode_lines
from agio.protocol.events import StepFinished, StepStarted, ToolCallResult
from agio.protocol.grammar import Grammar
from tests.support.engine import ANN, PATIENCE_S, Hand, engine, soon


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
        await room.intake.cancel(ANN, run_id=accepted.run_id)
        assert (await soon(asked)).error == "cancelled"
        info = await room.ended(session, accepted.run_id)
        assert info.status == "cancelled"
        events = decode_lines(await room.read(session, info.last_seq))
        Grammar().check_stream(events)
        (result,) = [event for event in events if isinstance(event, ToolCallResult)]
        assert "unknown whether it took effect" in str(result.content)
        (record,) = (await room.store.list_tool_executions("default", "ann", accepted.run_id)).items
        assert (record.state, record.error) == ("finished", "unknown")


async def test_what_a_run_used_before_it_was_ended_for_its_worker_is_kept() -> None:
    """C8, C5: tokens, steps and cost of its finished turns; a run that never began used nothing."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        accepted, waiting = await room.say(session), await room.say(session, "Two")
        hand = Hand(link, await worker.next_job())
        await hand.say("I count")
        hand.turn(Usage(input=1000, output=500))
        await soon(hand.journal.commit())
        running = await room.store.find_run("default", "ann", accepted.run_id)
        assert (running.steps, running.input_tokens, running.cost) == (None, 1000, 0.002)
        await room.intake.cancel(ANN, session_id=session.id)
        info = await room.ended(session, accepted.run_id)
        assert (info.status, info.steps, info.input_tokens, info.output_tokens) == ("cancelled", 1, 1000, 500)
        assert info.cost == 0.002
        never = await room.ended(session, waiting.run_id)
        assert (never.steps, never.input_tokens, never.output_tokens, never.cost) == (0, 0, 0, 0)


async def test_a_run_that_was_taken_over_has_the_turns_of_all_its_workers() -> None:
    """C8, R5: the totals are of the log, not of whoever ended it."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join("w1")
        accepted = await room.say(session)
        first = Hand(link, await worker.next_job())
        await first.say("I begin")
        first.turn(Usage(input=10, output=5))
        await soon(first.journal.commit())
        other, other_link, _ = await room.join("w2")
        await link.release(first.claim)
        jobs = [asyncio.ensure_future(each.next_job()) for each in (worker, other)]
        (taken,), (still,) = await asyncio.wait(jobs, timeout=PATIENCE_S, return_when="FIRST_COMPLETED")
        still.cancel()
        second = Hand(link if taken is jobs[0] else other_link, taken.result())
        assert second.claim.epoch == 2
        second.journal.emit(StepFinished("step-1"))
        second.journal.emit(StepStarted("step-2"))
        second.turn(Usage(input=20, output=5))
        await second.finish()
        info = await room.ended(session, accepted.run_id)
        assert (info.steps, info.input_tokens, info.output_tokens) == (2, 30, 10)


async def test_the_session_goes_on_after_a_run_was_ended_for_its_worker() -> None:
    """B1: the next run finds a conversation without open ends."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        first = await room.say(session, "One")
        await Hand(link, await worker.next_job()).say("I will never")
        second = await room.say(session, "Two")
        await room.intake.cancel(ANN, run_id=first.run_id)
        job = await worker.next_job()
        assert job.claim.run_id == second.run_id
        hand = Hand(link, job)
        assert hand.journal.fold.pending == []
        await hand.say("Two it is")
        await hand.finish()
        last = await room.ended(session, second.run_id)
        events = decode_lines(await room.read(session, last.first_pos + last.last_seq))
        Grammar().check_stream(events)
