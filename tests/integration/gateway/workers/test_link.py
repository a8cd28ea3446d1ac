"""Workers that come, go, come back, fall silent; and gateways that restart under them."""

import time
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from msgspec import structs

from agio.core.config import ServerLimits
from agio.core.link.link import Task
from agio.core.store.records import AgentFields
from agio.errors import ModelError, StoreError, UserError
from agio.gateway.workers.connected_worker import OPERATOR
from tests.support.engine import ANN, QUICK, Hand, engine, soon

PATIENT = structs.replace(QUICK, link_grace_s=3600.0)


async def test_a_worker_that_comes_back_in_time_keeps_its_runs() -> None:
    """B1: a link that breaks costs nothing: same claim, same epoch, and the log goes on."""
    async with engine(PATIENT) as room:
        session = await room.session()
        worker, link, _ = await room.join()
        await room.say(session)
        hand = Hand(link, await worker.next_job())
        await hand.say("before, ")
        link.closed()
        again, new_link, welcome = await room.join(claims=[hand.claim])
        assert welcome.claims == [hand.run_id]
        hand.link = new_link
        await hand.say("and after")
        await hand.finish()
        assert (await room.ended(session, hand.run_id)).epoch == 1
        assert again.jobs.empty()


async def test_a_link_that_closes_late_does_not_hurt_the_one_that_replaced_it() -> None:
    """B1: the gateway may learn of the break after the worker is back."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        await room.say(session)
        hand = Hand(link, await worker.next_job())
        again, new_link, _ = await room.join(claims=[hand.claim])
        link.closed()
        hand.link = new_link
        await hand.finish()
        assert (await room.ended(session, hand.run_id)).epoch == 1
        await room.say(session)
        await again.next_job()


async def test_after_its_grace_a_workers_runs_go_to_another() -> None:
    """B1: under a new claim, with what was written before; the old one is refused, and not welcomed back."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join("w1")
        await room.say(session)
        hand = Hand(link, await worker.next_job())
        await hand.say("Half")
        link.closed()
        other, other_link, _ = await room.join("w2")
        heir = Hand(other_link, await other.next_job())
        assert heir.run_id == hand.run_id
        assert heir.claim.epoch == 2
        assert heir.claim.token != hand.claim.token
        assert heir.journal.seq == hand.journal.seq
        with pytest.raises(StoreError, match="stale_epoch"):
            await hand.say("a late word")
        _, late_link, welcome = await room.join("w1", claims=[hand.claim])
        assert welcome.claims == []
        hand = Hand(late_link, hand.job)
        with pytest.raises(StoreError, match="stale_epoch"):
            await hand.say("another")
        await heir.finish()
        assert (await room.ended(session, heir.run_id)).status == "completed"


async def test_a_job_that_was_lost_with_the_link_is_given_out_again() -> None:
    """B1: a worker that comes back without a run it was given never got it."""
    async with engine(PATIENT) as room:
        session = await room.session()
        worker, link, _ = await room.join()
        await room.say(session)
        lost = await worker.next_job()
        link.closed()
        again, _, welcome = await room.join()
        assert welcome.claims == []
        job = await again.next_job()
        assert (job.claim.run_id, job.claim.epoch) == (lost.claim.run_id, 2)


async def test_a_worker_whose_heart_stops_is_given_up() -> None:
    """B1: one that is stopped holds its connection open and does nothing."""
    async with engine(structs.replace(QUICK, silence_s=0.2)) as room:
        session = await room.session()
        worker, link, _ = await room.join("w1")
        await room.say(session)
        hand = Hand(link, await worker.next_job())
        other, _, _ = await room.join("w2")
        assert link.alive()
        job = await other.next_job()
        assert (job.claim.run_id, job.claim.epoch) == (hand.run_id, 2)
        assert not link.alive()
        assert not room.pool.beat("w1")
        with pytest.raises(StoreError, match="stale_epoch"):
            await hand.say("I am back")


async def test_a_worker_in_this_process_needs_no_heartbeat() -> None:
    """R5: it is as alive as the gateway."""
    async with engine(structs.replace(QUICK, silence_s=0.01, tick_s=0.005)) as room:
        session = await room.session()
        quiet, _, _ = await room.join("quiet")
        beating, beating_link, _ = await room.join("beating", room=50)
        await room.say(session)
        lost = Hand(beating_link, await beating.next_job())
        assert beating_link.alive()
        job = await quiet.next_job()
        assert (job.claim.run_id, job.claim.epoch) == (lost.run_id, 2)


async def test_a_run_that_is_given_back_goes_on_at_once() -> None:
    """B1: release is for workers that leave: nobody waits for them."""
    async with engine(ServerLimits()) as room:
        session = await room.session()
        worker, link, _ = await room.join("w1", room=1)
        other, _, _ = await room.join("w2", room=0)
        await room.say(session)
        hand = Hand(link, await worker.next_job())
        await link.leave()
        await hand.say("My last words")
        room.pool.workers[OPERATOR, "w2"].room = 1
        await link.release(hand.claim)
        job = await other.next_job()
        assert (job.claim.run_id, job.claim.epoch) == (hand.run_id, 2)
        with pytest.raises(StoreError, match="stale_epoch"):
            await link.release(hand.claim)


async def test_workers_that_leave_in_good_order_are_no_crash_loop() -> None:
    """B1: however often workers are replaced during one long turn, somebody goes on with its run."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join("w0")
        accepted = await room.say(session)
        for number in range(1, 6):
            hand = Hand(link, await worker.next_job())
            assert hand.claim.epoch == number
            await link.leave()
            await link.release(hand.claim)
            worker, link, _ = await room.join(f"w{number}")
        await Hand(link, await worker.next_job()).finish()
        assert (await room.ended(session, accepted.run_id)).status == "completed"


async def test_a_cancelled_run_is_ended_even_if_its_worker_is_gone_and_no_other_comes() -> None:
    """L14: whoever was to obey went away; the gateway does not wait for another worker to end the run."""
    async with engine(structs.replace(QUICK, cancel_s=0.3)) as room:
        session = await room.session()
        worker, link, _ = await room.join()
        accepted = await room.say(session)
        await Hand(link, await worker.next_job()).say("I will nev")
        await room.intake.cancel(ANN, run_id=accepted.run_id)
        link.closed()
        info = await room.ended(session, accepted.run_id)
        assert (info.status, info.epoch) == ("cancelled", 2)


async def test_a_worker_that_said_goodbye_has_no_grace() -> None:
    """B1: what it did not finish goes to others as soon as its link closes."""
    async with engine(PATIENT) as room:
        session = await room.session()
        worker, link, _ = await room.join("w1")
        await room.say(session)
        first = await worker.next_job()
        await link.leave()
        other, _, _ = await room.join("w2")
        await room.say(await room.session())
        assert (await other.next_job()).claim.run_id != first.claim.run_id
        link.closed()
        assert (await other.next_job()).claim.run_id == first.claim.run_id


async def test_an_embedded_server_takes_its_runs_up_again_at_once(tmp_path: Path) -> None:
    """B1: after a restart nobody else can have them."""
    async with engine(path=tmp_path / "agio.db") as room:
        session = await room.session()
        worker, link, _ = await room.join()
        await room.say(session)
        hand = Hand(link, await worker.next_job())
        await hand.say("Half of it")
    async with engine(ServerLimits(), path=tmp_path / "agio.db") as room:
        worker, link, _ = await room.join()
        heir = Hand(link, await worker.next_job())
        assert (heir.run_id, heir.claim.epoch) == (hand.run_id, 2)
        assert heir.journal.seq == hand.journal.seq
        await heir.finish()
        assert (await room.ended(session, heir.run_id)).status == "completed"


async def test_a_worker_outlives_its_gateway(tmp_path: Path) -> None:
    """B1: its claim is checked against the store, and its repeated append is shown to nobody twice."""
    async with engine(path=tmp_path / "agio.db") as room:
        session = await room.session()
        worker, link, _ = await room.join()
        await room.say(session)
        hand = Hand(link, await worker.next_job())
        await hand.say("before ")
    async with engine(PATIENT, path=tmp_path / "agio.db", takeover="after grace") as room:
        stolen = structs.replace(hand.claim, token="guessed")
        _, _, welcome = await room.join("thief", claims=[stolen])
        assert welcome.claims == []
        again, hand.link, welcome = await room.join(claims=[hand.claim])
        assert welcome.claims == [hand.run_id]
        await hand.say("after")
        await hand.finish()
        assert (await room.ended(session, hand.run_id)).epoch == 1
        assert again.jobs.empty()


async def test_a_gateway_that_starts_gives_workers_time_to_come_back(tmp_path: Path) -> None:
    """B1: those that do not lose their runs."""
    async with engine(path=tmp_path / "agio.db") as room:
        worker, _, _ = await room.join()
        await room.say(await room.session())
        lost = await worker.next_job()
    async with engine(path=tmp_path / "agio.db", takeover="after grace") as room:
        other, _, _ = await room.join("w2")
        job = await other.next_job()
        assert (job.claim.run_id, job.claim.epoch) == (lost.claim.run_id, 2)


async def test_a_cancel_asked_for_before_a_restart_is_carried_out_after_it(tmp_path: Path) -> None:
    """L14: the flag is on the run's row."""
    async with engine(ServerLimits(), path=tmp_path / "agio.db") as room:
        session = await room.session()
        worker, _, _ = await room.join()
        accepted = await room.say(session)
        await worker.next_job()
        await room.intake.cancel(ANN, run_id=accepted.run_id)
    async with engine(path=tmp_path / "agio.db") as room:
        worker, _, _ = await room.join()
        assert (await room.ended(session, accepted.run_id)).status == "cancelled"
        assert worker.jobs.empty()


async def test_a_cancel_asked_for_before_a_restart_needs_no_worker(tmp_path: Path) -> None:
    """L14: the gateway ends the run itself, whether or not a worker ever comes."""
    async with engine(structs.replace(QUICK, cancel_s=3600.0), path=tmp_path / "agio.db") as room:
        session = await room.session()
        worker, _, _ = await room.join()
        accepted = await room.say(session)
        await worker.next_job()
        await room.intake.cancel(ANN, run_id=accepted.run_id)
    async with engine(path=tmp_path / "agio.db", takeover="after grace") as room:
        assert (await room.ended(session, accepted.run_id)).status == "cancelled"


async def test_a_worker_that_brings_back_a_cancelled_run_is_told_to_end_it(tmp_path: Path) -> None:
    """L14: and if it does not, the gateway does."""
    async with engine(ServerLimits(), path=tmp_path / "agio.db") as room:
        session = await room.session()
        worker, _, _ = await room.join()
        accepted = await room.say(session)
        job = await worker.next_job()
        await room.intake.cancel(ANN, run_id=accepted.run_id)
    async with engine(path=tmp_path / "agio.db", takeover="after grace") as room:
        worker, _, welcome = await room.join(claims=[job.claim])
        assert welcome.claims == [accepted.run_id]
        assert await soon(worker.cancelled.get()) == (accepted.run_id, 1)
        assert (await room.ended(session, accepted.run_id)).status == "cancelled"


async def test_agents_in_code_are_those_of_the_workers_that_are_there(tmp_path: Path) -> None:
    """C2: an embedded server without its module has them no more."""
    coded = AgentFields(name="coded", system_prompt="x", model_provider="demo", model_name="demo")
    async with engine(path=tmp_path / "agio.db") as room:
        await room.session()
        await room.join("w1", agents=[coded])
        await room.join("w2")
        await room.join("w3", agents=[structs.replace(coded, name="other")])
        agents = (await room.store.list_agents("default")).items
        status = {agent.name: agent.status for agent in agents if agent.source == "code"}
        assert status == {"coded": "active", "other": "active"}
        taken = next(agent.name for agent in agents if agent.source == "stored")
        with pytest.raises(UserError, match="agent_exists"):
            await room.join("w4", agents=[structs.replace(coded, name=taken)])
    async with engine(path=tmp_path / "agio.db") as room:
        await room.join("w1")
        agents = (await room.store.list_agents("default")).items
        assert {agent.status for agent in agents if agent.source == "code"} == {"inactive"}


async def test_the_readers_of_an_old_session_are_told_that_it_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """C5: what a team keeps no longer goes by itself, more than a batch of it too."""
    now_ns = time.time_ns()
    async with engine() as room:
        with monkeypatch.context() as clock:
            clock.setattr(time, "time_ns", lambda: now_ns - 2 * 24 * 3600 * 1_000_000_000)
            old = [await room.session() for _ in range(51)]
        young = await room.session()
        async with AsyncExitStack() as open_readers:
            readers = [await open_readers.enter_async_context(room.hub.subscribe(s.id, 0)) for s in old]
            await room.store.set_retention("default", 1)
            for reader in readers:
                assert await soon(reader.next()) is None
        left = await room.store.list_sessions(ANN.tenant, ANN.user)
        assert [session.id for session in left.items] == [young.id]


async def test_a_short_task_goes_to_a_worker() -> None:
    """R5: the gateway calls no model; without a worker it says so."""
    task = Task(provider="demo", model="demo", instructions="", prompt="Say hello")
    async with engine() as room:
        with pytest.raises(ModelError, match="no_worker"):
            await room.pool.perform(task, "default")
        await room.join()
        assert (await soon(room.pool.perform(task, "default"))).text == "demo was asked: Say hello"


async def test_nothing_is_answered_before_a_worker_greets() -> None:
    """R7: a worker that has not greeted has no claims."""
    async with engine() as room:
        session = await room.session()
        worker, _, _ = await room.join()
        await room.say(session)
        claim = (await worker.next_job()).claim
        stranger = room.pool.connect(worker)
        assert not stranger.alive()
        with pytest.raises(StoreError, match="stale_epoch"):
            await stranger.release(claim)
