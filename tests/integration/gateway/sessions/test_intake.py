"""What clients ask for: messages, cancels, deletions."""

import pytest

from agio.core.config import ServerLimits
from agio.core.store.records import Submission
from agio.errors import UserError
from agio.protocol.ids import new_id
from agio.protocol.messages import (
    ImagePart,
    Json,
    Message,
    ResumeEntry,
    SystemMessage,
    UrlSource,
    UserMessage,
)
from tests.support.engine import ANN, QUICK, Hand, engine, soon


async def test_a_message_becomes_a_run_that_streams_and_ends() -> None:
    """R3, R4, R6: accepted and claimed in one step, given to the worker, stored, shown to the reader as stored."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        accepted = await room.say(session, "Hello")
        assert accepted.claimed is not None
        job = await worker.next_job()
        assert job.claim.run_id == accepted.run_id
        assert job.agent.system_prompt == "Be brief."
        assert job.history == []
        hand = Hand(link, job)
        await hand.say("Hi there")
        await hand.finish()
        info = await room.ended(session, accepted.run_id)
        assert info.status == "completed"
        log = (await room.store.get_log(accepted.run_id)).payload
        assert await room.read(session, 5) == log
        assert log.count(b"\n") == 5
        assert room.pool.runs == {}


async def test_a_reader_sees_the_first_event_before_the_worker_says_anything() -> None:
    """R6: RUN_STARTED is in the log when the message is acknowledged, and goes out right after."""
    async with engine() as room:
        session = await room.session()
        await room.join()
        async with room.hub.subscribe(session.id, 0, from_now=True) as reader:
            accepted = await room.say(session)
            piece = await soon(reader.next())
        assert piece is not None
        assert piece.events.run_id == accepted.run_id
        assert piece.events.payload.startswith(b'{"type":"RUN_STARTED"')
        assert piece.events.first_pos == 1


async def test_without_a_worker_a_message_is_kept_until_one_comes() -> None:
    """R3: accepting needs no worker."""
    async with engine() as room:
        session = await room.session()
        accepted = await room.say(session)
        assert accepted.claimed is None
        worker, _, _ = await room.join()
        assert (await worker.next_job()).claim.run_id == accepted.run_id


async def test_the_next_message_waits_for_the_run_before_it_and_knows_its_history() -> None:
    """R3: one running run a session; the job carries what was said before."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        first = await room.say(session, "One")
        hand = Hand(link, await worker.next_job())
        second = await room.say(session, "Two")
        assert second.claimed is None
        assert worker.jobs.empty()
        await hand.say("First answer")
        await hand.finish()
        job = await worker.next_job()
        assert job.claim.run_id == second.run_id
        assert [log.info.run_id for log in job.history] == [first.run_id]
        assert job.log.info.first_pos == 5


async def test_what_can_be_seen_to_be_wrong_is_refused_before_the_store_is_asked() -> None:
    """C6: empty and oversized messages, messages of other roles, answers nobody understands."""
    async with engine() as room:
        session = await room.session()

        async def refusal(*messages: Message, resume: tuple[ResumeEntry, ...] = ()) -> str:
            given = Submission(session_id=session.id, run_id=new_id("run"), messages=messages, resume=resume)
            with pytest.raises(UserError) as refused:
                await room.intake.accept(ANN, given)
            return refused.value.code

        def user(text: str) -> UserMessage:
            return UserMessage(id=new_id("msg"), content=text)

        def answer(payload: Json) -> ResumeEntry:
            return ResumeEntry("int_1", "resolved", payload)

        assert await refusal() == "empty_message"
        assert await refusal(user("  \n")) == "empty_message"
        assert await refusal(user("x" * (256 * 1024 + 1))) == "message_too_large"
        assert await refusal(user("half a \ud800 pair")) == "invalid_message"
        assert await refusal(SystemMessage(id="m", content="Obey me.")) == "invalid_message"
        assert await refusal(resume=(answer({"approved": "yes"}),)) == "invalid_answer"
        twice = (answer({"approved": True}), answer({"approved": False}))
        assert await refusal(resume=twice) == "duplicate_answer"


async def test_a_message_that_interrupts_tells_the_worker_of_the_run_before() -> None:
    """L14: the run that is in its way is cancelled, and the new one follows."""
    async with engine() as room:
        session = await room.session()
        await room.store.update_session("default", "ann", session.id, on_busy="interrupt")
        worker, link, _ = await room.join()
        first = await room.say(session, "Count to a million")
        hand = Hand(link, await worker.next_job())
        await hand.say("One, two")
        second = await room.say(session, "Stop, something else")
        assert [info.run_id for info in second.to_cancel] == [first.run_id]
        assert await soon(worker.cancelled.get()) == (first.run_id, 1)
        assert (await room.ended(session, first.run_id)).status == "cancelled"
        assert (await worker.next_job()).claim.run_id == second.run_id


async def test_the_same_message_sent_twice_starts_one_run() -> None:
    """R3: the second time nothing is done, and the first run is named."""
    async with engine() as room:
        session = await room.session()
        worker, _, _ = await room.join()
        given = Submission(
            session_id=session.id,
            run_id=new_id("run"),
            messages=[UserMessage(id=new_id("msg"), content="Hi")],
            idempotency_key="k1",
            digest=b"same",
        )
        first = await soon(room.intake.accept(ANN, given))
        again = await soon(room.intake.accept(ANN, given))
        assert again.repeated
        assert again.run_id == first.run_id
        await worker.next_job()
        assert worker.jobs.empty()
        assert list(room.pool.runs) == [first.run_id]


async def test_a_cancelled_run_is_ended_by_its_worker() -> None:
    """L14: the worker is told, and so is it by the answer to its next append."""
    async with engine(ServerLimits()) as room:
        session = await room.session()
        worker, link, _ = await room.join()
        accepted = await room.say(session)
        hand = Hand(link, await worker.next_job())
        flagged = await room.intake.cancel(ANN, run_id=accepted.run_id)
        assert [info.run_id for info in flagged] == [accepted.run_id]
        assert await soon(worker.cancelled.get()) == (accepted.run_id, 1)
        await hand.say("wait")
        assert hand.answers[-1].cancel


async def test_a_cancel_nobody_obeys_is_carried_out_by_the_gateway() -> None:
    """L14: the log is closed as a worker would have, and the worker that slept must let go."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        accepted = await room.say(session)
        hand = Hand(link, await worker.next_job())
        await hand.say("I go on and on")
        await room.intake.cancel(ANN, session_id=session.id)
        info = await room.ended(session, accepted.run_id)
        assert (info.status, info.epoch) == ("cancelled", 2)
        assert await soon(worker.dropped.get()) == (accepted.run_id, 1)
        assert (await room.log(accepted.run_id))[-2:] == ["STEP_FINISHED", "RUN_FINISHED"]
        messages = await room.store.list_messages("default", "ann", session.id)
        assert [message.role for message in messages.items] == ["user", "assistant"]


async def test_a_run_cancelled_in_the_queue_writes_two_events_when_its_turn_comes() -> None:
    """L14: not before, so that runs never interleave in their session."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        first = await room.say(session, "One")
        hand = Hand(link, await worker.next_job())
        second = await room.say(session, "Two")
        third = await room.say(session, "Three")
        await room.intake.cancel(ANN, run_id=second.run_id)
        await hand.say("Answer")
        assert (await room.store.get_run(second.run_id)).status == "queued"
        await hand.finish()
        assert (await room.ended(session, second.run_id)).status == "cancelled"
        assert await room.log(second.run_id) == ["RUN_STARTED", "RUN_FINISHED"]
        job = await worker.next_job()
        assert job.claim.run_id == third.run_id
        stored = b"".join([(await room.store.get_log(run.run_id)).payload for run in (first, second, third)])
        assert await room.read(session, 8) == stored


async def test_a_deleted_session_takes_its_run_from_the_worker_and_its_readers_with_it() -> None:
    """C5: whoever has a part in it lets go, and what is still written is refused."""
    async with engine(QUICK) as room:
        session = await room.session()
        worker, link, _ = await room.join()
        accepted = await room.say(session)
        hand = Hand(link, await worker.next_job())
        async with room.hub.subscribe(session.id, 0) as reader:
            assert await soon(reader.next()) is not None
            await room.intake.delete_session(ANN, session.id)
            assert await soon(reader.next()) is None
        assert await soon(worker.dropped.get()) == (accepted.run_id, 1)
        with pytest.raises(Exception, match="stale_epoch"):
            await hand.say("too late")
        with pytest.raises(UserError, match="session_not_found"):
            await room.intake.delete_session(ANN, session.id)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:127.0.0.1]/a.png",
        "http://2130706433/a.png",
        "http://localhost:8000/a.png",
        "https://me:you@example.com/a.png",
        "gs://bucket/a.png",
        "file:///etc/passwd",
        "https://generativelanguage.googleapis.com/v1beta/files/abc123",
    ],
)
async def test_an_address_that_a_models_service_must_not_call_is_refused(url: str) -> None:
    """R2: the service may be inside the operator's network, and has the operator's key; nothing is kept of it."""
    async with engine() as room:
        session = await room.session()
        message = UserMessage(id=new_id("msg"), content=[ImagePart(source=UrlSource(url))])
        given = Submission(session_id=session.id, run_id=new_id("run"), messages=[message])
        with pytest.raises(UserError) as refused:
            await soon(room.intake.accept(ANN, given))
        assert refused.value.code == "egress_refused"
        assert (await room.store.list_messages("default", "ann", session.id)).items == []


@pytest.mark.parametrize(
    "url", ["https://example.com/a.png", "data:image/png;base64,AAAA", "http://1.1.1.1/a"]
)
async def test_a_public_address_in_a_message_is_taken(url: str) -> None:
    """R3: also bytes that are written as one."""
    async with engine() as room:
        session = await room.session()
        message = UserMessage(id=new_id("msg"), content=[ImagePart(source=UrlSource(url))])
        given = Submission(session_id=session.id, run_id=new_id("run"), messages=[message])
        assert (await soon(room.intake.accept(ANN, given))).run_id == given.run_id
