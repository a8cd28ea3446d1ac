"""The link port: a worker's calls and a gateway's commands mean the same in one process and over a WebSocket."""

import asyncio
from contextlib import suppress

import pytest
from msgspec import structs

from agio.core.link.link import Link, Task, TaskResult, ToolReply
from agio.core.store.records import AgentTool, SessionRecord
from agio.core.store.repository import Append, ToolRecord
from agio.errors import ModelError, StoreError, ToolError
from agio.protocol.frames import Frame
from agio.protocol.ids import id_body
from tests.contract.link.conftest import Counted
from tests.support.engine import ANN, Engine, Hand, soon
from tests.support.wiring import Join, Visitor

TOOLS = [AgentTool("act"), AgentTool("ring")]


async def begun(room: Engine, link: Link, visitor: Visitor) -> tuple[SessionRecord, Hand]:
    """Give a worker the run of a new session to play."""
    session = await room.session(tools=TOOLS)
    await room.say(session, "Hi there")
    return session, Hand(link, await visitor.next_job())


async def test_a_job_has_all_that_is_needed_to_run_it(room: Engine, join: Join) -> None:
    """R4: the gateway sends a run with its agent, its tools, its log and the session's history."""
    visitor = Visitor()
    link = await join(visitor)
    session, hand = await begun(room, link, visitor)
    assert hand.job.agent.system_prompt == "Be brief."
    assert [(offer.name, offer.place) for offer in hand.job.tools] == [("act", "gateway"), ("ring", "worker")]
    assert b"Hi there" in hand.job.log.payload
    await hand.finish()
    await room.say(session, "Again")
    second = await visitor.next_job()
    assert [log.info.run_id for log in second.history] == [hand.run_id]
    assert second.history[0].payload.startswith(hand.job.log.payload)
    for log in (second.log, *second.history):  # they are other workers' too
        assert (log.info.worker, log.info.token_hash) == (None, b"")


async def test_what_is_appended_is_stored_and_shown_as_it_was_written(room: Engine, join: Join) -> None:
    """R6: every event of the worker is persisted, then relayed, byte for byte."""
    visitor = Visitor()
    link = await join(visitor)
    session, hand = await begun(room, link, visitor)
    await hand.say("Hel")
    await hand.say("lo")
    await hand.finish()
    info = await room.ended(session, hand.run_id)
    assert info.status == "completed"
    log = await room.store.get_log(hand.run_id)
    assert log.payload == await room.read(session, info.last_seq)
    assert [turn.step for turn in log.turns] == [1]
    assert all(not answer.cancel for answer in hand.answers)


async def test_repeating_an_append_answers_as_the_first_did(room: Engine, join: Join) -> None:
    """B1: a worker that did not hear the answer may ask again: nothing is stored twice."""
    visitor = Visitor()
    link = await join(visitor)
    _, hand = await begun(room, link, visitor)
    line = b'{"type":"STEP_STARTED","stepName":"step-1"}\n'
    write = Append(Frame(hand.run_id, hand.claim.epoch, 2, 1, line))
    assert await soon(link.append(hand.claim, write)) == await soon(link.append(hand.claim, write))
    assert len(await room.store.get_events(hand.run_id)) == 2
    another = structs.replace(write.frame, payload=line.replace(b"1", b"2"))
    with pytest.raises(StoreError) as other:
        await soon(link.append(hand.claim, structs.replace(write, frame=another)))
    assert other.value.code == "append_conflict"


async def test_a_claim_that_is_no_longer_good_is_refused_whatever_it_asks(room: Engine, join: Join) -> None:
    """B1: nothing is written or done under an old epoch, or with somebody else's token."""
    visitor = Visitor()
    link = await join(visitor)
    _, hand = await begun(room, link, visitor)
    claim = hand.claim
    for wrong in (
        structs.replace(claim, epoch=claim.epoch + 1),
        structs.replace(claim, token="guessed"),
        structs.replace(claim, run_id="run_other"),
    ):
        write = Append(Frame(wrong.run_id, wrong.epoch, 2, 1, b"{}\n"))
        for asked in (
            link.append(wrong, write),
            link.begin_tool(wrong, "key", "act", "once"),
            link.end_tool(wrong, "key", ToolRecord("x")),
            link.call_tool(wrong, "key", "act", {"word": "x"}),
            link.release(wrong),
        ):
            with pytest.raises(StoreError) as refused:
                await soon(asked)
            assert refused.value.code == "stale_epoch"


async def test_a_tool_of_the_gateway_acts_once_for_a_key(room: Engine, join: Join, counted: Counted) -> None:
    """R7: a call is done once; whoever repeats it gets the stored result, success or failure."""
    visitor = Visitor()
    link = await join(visitor)
    _, hand = await begun(room, link, visitor)
    key = await hand.ask("act", '{"word":"ping"}')
    first = await soon(link.call_tool(hand.claim, key, "act", {"word": "ping"}))
    assert first == ToolReply("ping 1")
    assert await soon(link.call_tool(hand.claim, key, "act", {"word": "ping"})) == first
    assert counted.times == 1


async def test_a_tool_that_fails_answers_and_one_that_is_not_offered_is_refused(
    room: Engine, join: Join
) -> None:
    """R9: a failure is told to the model; a refusal by the gateway is an error of its own kind."""
    visitor = Visitor()
    link = await join(visitor)
    _, hand = await begun(room, link, visitor)
    key = await hand.ask("act", '{"word":"fail"}')
    reply = await soon(link.call_tool(hand.claim, key, "act", {"word": "fail"}))
    assert reply.error == "no_luck"
    with pytest.raises(ToolError):
        await soon(link.call_tool(hand.claim, f"{key}x", "rm", {}))


async def test_a_call_of_the_workers_own_is_recorded_between_begin_and_end(room: Engine, join: Join) -> None:
    """B1: a Python tool in the worker has a record too: begun before it acts, ended before it is answered."""
    visitor = Visitor()
    link = await join(visitor)
    _, hand = await begun(room, link, visitor)
    key = f"call_{id_body(hand.run_id)}_1_9"
    assert await soon(link.begin_tool(hand.claim, key, "ring", "once")) is None
    assert await soon(link.begin_tool(hand.claim, key, "ring", "once")) == ToolRecord(None)
    await soon(link.end_tool(hand.claim, key, ToolRecord("rung", "code")))
    assert await soon(link.begin_tool(hand.claim, key, "ring", "once")) == ToolRecord("rung", "code")


async def test_a_cancel_is_told_and_every_answer_carries_it(room: Engine, join: Join) -> None:
    """L14: the worker is told to cancel, and would notice by the next answer if it were not."""
    visitor = Visitor()
    link = await join(visitor)
    session, hand = await begun(room, link, visitor)
    await room.intake.cancel(ANN, run_id=hand.run_id)
    assert await soon(visitor.cancelled.get()) == (hand.run_id, hand.claim.epoch)
    with suppress(StoreError):  # if the gateway has ended it already, for want of an answer
        await hand.say("still here")
        assert hand.answers[-1].cancel
    assert (await room.ended(session, hand.run_id)).status == "cancelled"


async def test_a_run_that_is_given_back_goes_on_at_once_under_a_new_claim(room: Engine, join: Join) -> None:
    """B1: releasing a run loses nothing of it."""
    visitor = Visitor()
    link = await join(visitor)
    session, hand = await begun(room, link, visitor)
    await hand.say("half a sen")
    await soon(link.release(hand.claim))
    again = Hand(link, await visitor.next_job())
    assert again.claim.epoch == hand.claim.epoch + 1
    assert b"half a sen" in again.job.log.payload
    with pytest.raises(StoreError):
        await soon(link.release(hand.claim))
    await again.finish()
    assert (await room.ended(session, hand.run_id)).status == "completed"


async def test_a_worker_that_leaves_gets_no_more_jobs_and_may_finish_its_own(
    room: Engine, join: Join
) -> None:
    """R5: leaving is not dying."""
    leaving, staying = Visitor("wrk_1", room=20), Visitor("wrk_2")
    link = await join(leaving)
    session, hand = await begun(room, link, leaving)
    await soon(link.leave())
    other = await join(staying)
    await begun(room, other, staying)
    await hand.finish()
    assert (await room.ended(session, hand.run_id)).status == "completed"
    assert leaving.jobs.empty()


async def test_a_deleted_session_takes_its_run_from_the_worker(room: Engine, join: Join) -> None:
    """B1: deleting deletes: the worker lets go and can write nothing more."""
    visitor = Visitor()
    link = await join(visitor)
    session, hand = await begun(room, link, visitor)
    await room.intake.delete_session(ANN, session.id)
    assert await soon(visitor.dropped.get()) == (hand.run_id, hand.claim.epoch)
    with pytest.raises(StoreError):
        await hand.say("too late")


async def test_a_gateway_that_drains_asks_its_workers_to_finish(room: Engine, join: Join) -> None:
    """R5: a gateway that stops lets the turns under way be finished."""
    visitor = Visitor()
    link = await join(visitor)
    _, hand = await begun(room, link, visitor)
    draining = asyncio.create_task(room.pool.drain(5))
    await soon(visitor.drained.wait())
    await hand.finish()
    await soon(draining)


async def test_a_task_is_done_by_a_worker(room: Engine, join: Join) -> None:
    """R5: the gateway calls no model; short model jobs go to a worker over the same link."""

    class Performer(Visitor):
        async def perform(self, task: Task) -> TaskResult:
            if task.prompt == "fail":
                raise ModelError("rate_limited", "Wait.", {"a": 1}, retryable=True, retry_after_s=2.5)
            return await super().perform(task)

    with pytest.raises(ModelError) as nobody:
        await room.pool.perform(Task(provider="demo", model="demo", instructions="", prompt="Hi"), "default")
    assert nobody.value.code == "no_worker"
    await join(Performer())
    ask = Task(provider="demo", model="demo", instructions="", prompt="Hi")
    assert (await soon(room.pool.perform(ask, "default"))).text == "demo was asked: Hi"
    with pytest.raises(ModelError) as refused:
        await soon(room.pool.perform(structs.replace(ask, prompt="fail"), "default"))
    assert (refused.value.code, refused.value.retry_after_s) == ("rate_limited", 2.5)
