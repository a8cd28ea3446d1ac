"""A store that fails for a while: nothing acknowledged is lost, and everything goes on when it is well again."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import ParamSpec, TypeVar

import pytest
from msgspec import structs

from agio.core.link.link import ToolReply
from agio.core.store.records import AgentTool
from agio.core.tool import tool
from agio.errors import StoreError
from tests.support.engine import ANN, QUICK, Hand, engine, soon

P = ParamSpec("P")
T = TypeVar("T")
FULL = StoreError("store_full", "The disk is full.")


def failing(
    times: int, real: Callable[P, Coroutine[None, None, T]], error: StoreError = FULL
) -> Callable[P, Coroutine[None, None, T]]:
    """Let a call of the store fail so many times before it works."""
    left = [None] * times

    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if left:
            left.pop()
            raise error
        return await real(*args, **kwargs)

    return call


async def test_a_message_the_store_cannot_take_is_refused_and_costs_no_room() -> None:
    """R3: what is not committed is not acknowledged."""
    async with engine() as room:
        session = await room.session()
        worker, _, _ = await room.join(room=1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(room.store, "accept", failing(1, room.store.accept))
            with pytest.raises(StoreError, match="store_full"):
                await room.say(session)
            accepted = await room.say(session)
        assert (await worker.next_job()).claim.run_id == accepted.run_id


async def test_a_claimed_run_waits_for_the_store_to_be_read() -> None:
    """B1: under the same claim: trouble with the store is no crash."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        await room.say(session)
        await Hand(link, await worker.next_job()).finish()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(room.store, "history", failing(2, room.store.history))
            await room.say(session)
            assert (await worker.next_job()).claim.epoch == 1


async def test_a_queue_that_cannot_be_read_is_looked_at_again() -> None:
    """B1: neither a refused claim nor a bug stops the dispatcher."""
    async with engine() as room:
        session = await room.session()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(room.store, "claim_next", failing(2, room.store.claim_next))
            accepted = await room.say(session)
            worker, _, _ = await room.join()
            assert (await worker.next_job()).claim.run_id == accepted.run_id


async def test_a_lost_run_is_taken_over_when_the_store_is_well_again() -> None:
    """B1: it is not forgotten meanwhile."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        accepted = await room.say(session)
        hand = Hand(link, await worker.next_job())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(room.store, "reclaim", failing(2, room.store.reclaim))
            await link.release(hand.claim)
            job = await worker.next_job()
        assert (job.claim.run_id, job.claim.epoch) == (accepted.run_id, 2)


async def test_a_cancelled_run_is_ended_when_the_store_is_well_again() -> None:
    """L14: whichever step of ending it fails."""
    async with engine() as room:
        session = await room.session()
        worker, _, _ = await room.join()
        accepted = await room.say(session)
        await worker.next_job()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(room.store, "reclaim", failing(1, room.store.reclaim))
            patch.setattr(room.store, "get_log", failing(1, room.store.get_log))
            await room.intake.cancel(ANN, run_id=accepted.run_id)
            ended = await room.ended(session, accepted.run_id)
        assert ended.status == "cancelled"
        assert await soon(worker.dropped.get()) == (accepted.run_id, 1)


async def test_a_run_that_expired_is_not_run_because_its_end_could_not_be_written_at_once() -> None:
    """L13: why it ends stays what it was."""
    async with engine(structs.replace(QUICK, queue_timeout_s=-1.0)) as room:
        session = await room.session()
        accepted = await room.say(session)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(room.store, "get_log", failing(1, room.store.get_log))
            worker, _, _ = await room.join()
            ended = await room.ended(session, accepted.run_id)
        assert (ended.status, ended.epoch) == ("expired", 1)
        assert worker.jobs.empty()


async def test_a_log_that_cannot_be_read_ends_its_run() -> None:
    """L13: the session goes on."""
    damage = StoreError("store_corrupt", "The log is damaged.")
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        accepted = await room.say(session)
        hand = Hand(link, await worker.next_job())
        await hand.say("Half")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(room.store, "get_log", failing(2, room.store.get_log, damage))
            await link.release(hand.claim)
            ended = await room.ended(session, accepted.run_id)
        assert (ended.status, ended.error_code) == ("failed", "store_corrupt")
        await room.say(session, "And now?")
        await worker.next_job()


async def test_a_tool_that_acted_is_answered_when_its_result_is_kept() -> None:
    """R7: not before, and it does not act again."""
    acted: list[str] = []

    @tool
    def pay() -> str:
        """Pay."""
        acted.append("once")
        return "Paid."

    async with engine(tools={"pay": pay}) as room:
        session = await room.session(tools=[AgentTool("pay")])
        worker, link, _ = await room.join()
        await room.say(session)
        hand = Hand(link, await worker.next_job())
        key = await hand.ask("pay")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(room.store, "end_tool", failing(2, room.store.end_tool))
            both = [link.call_tool(hand.claim, key, "pay", {}) for _ in range(2)]
            assert await soon(asyncio.gather(*both)) == [ToolReply("Paid.")] * 2
        assert acted == ["once"]
        (record,) = (await room.store.list_tool_executions("default", "ann", hand.run_id)).items
        assert record.state == "finished"
