"""Who gets which run, and when."""

import asyncio
from pathlib import Path
from typing import cast

import apsw
from msgspec import structs

from agio.core.identity.principal import Principal
from agio.core.store.records import AgentFields, AgentTool
from agio.db.sqlite.connector import Connection
from agio.gateway.tools.offers import offer_tools
from agio.tools.clock import clock
from tests.support.engine import ANN, QUICK, Hand, engine, soon

BOB = Principal("acme", "bob", "member", "key_2")
CID = Principal("default", "cid", "member", "key_3")


async def test_a_worker_gets_no_more_runs_than_it_has_room_for() -> None:
    """R4: the others wait, and come as soon as there is room."""
    async with engine() as room:
        sessions = [await room.session() for _ in range(3)]
        worker, link, _ = await room.join(room=2)
        runs = [await room.say(session) for session in sessions]
        assert [run.claimed is not None for run in runs] == [True, True, False]
        hand = Hand(link, await worker.next_job())
        await worker.next_job()
        assert worker.jobs.empty()
        await hand.finish()
        assert (await worker.next_job()).claim.run_id == runs[2].run_id


async def test_runs_spread_over_the_workers() -> None:
    """R4: the one with more room is asked first."""
    async with engine() as room:
        one, _, _ = await room.join("w1")
        two, _, _ = await room.join("w2")
        for number in range(4):
            who = Principal("default", f"u{number}", "member", "k")
            await room.say(await room.session(who), who=who)
        await one.next_job()
        await two.next_job()


async def test_tenants_take_turns() -> None:
    """R4: a tenant with a long queue does not keep another waiting."""
    async with engine() as room:
        mine = [await room.session() for _ in range(3)]
        theirs = [await room.session(BOB) for _ in range(2)]
        worker, link, _ = await room.join(room=1)
        await room.say(await room.session(CID), who=CID)
        hand = Hand(link, await worker.next_job())
        for session in mine:
            await room.say(session)
        for session in theirs:
            await room.say(session, who=BOB)
        tenants: list[str] = []
        for _ in range(4):
            await hand.finish()
            hand = Hand(link, await worker.next_job())
            tenants.append(hand.job.log.info.tenant)
        assert sorted(tenants[:2]) == ["acme", "default"]
        assert sorted(tenants[2:]) == ["acme", "default"]


async def test_an_agent_in_code_goes_to_a_worker_that_has_it() -> None:
    """R4: its definition is in that worker's module and nowhere else."""
    fields = AgentFields(name="coded", system_prompt="x", model_provider="demo", model_name="demo")
    async with engine() as room:
        await room.session()
        plain, _, _ = await room.join("plain", room=50)
        coder, link, _ = await room.join("coder", room=1, agents=[fields])
        agents = await room.store.list_agents("default")
        coded = next(agent for agent in agents.items if agent.name == "coded")
        assert coded.source == "code"
        one = await room.store.start_session("default", "ann", coded.id)
        two = await room.store.start_session("default", "ann", coded.id)
        await room.say(one)
        hand = Hand(link, await coder.next_job())
        assert hand.job.agent.source == "code"
        waiting = await room.say(two)
        assert waiting.claimed is None
        await hand.finish()
        assert (await coder.next_job()).claim.run_id == waiting.run_id
        assert plain.jobs.empty()


async def test_a_job_names_the_tools_of_gateway_and_module_with_their_approval() -> None:
    """B7: an assignment's word about approval counts before the tool's, the agent's policy before both."""
    async with engine(tools={"clock": clock}) as room:
        offer = offer_tools({"clock": clock})["clock"]
        module = [structs.replace(offer, name=name, kind="module") for name in ("pay", "look")]
        worker, _, _ = await room.join(tools=module)
        tools = [AgentTool("clock"), AgentTool("pay", "ask"), AgentTool("look"), AgentTool("gone")]
        await room.say(await room.session(tools=tools))
        job = await worker.next_job()
        assert [(tool.name, tool.place, tool.approval) for tool in job.tools] == [
            ("clock", "gateway", "never"),
            ("pay", "worker", "ask"),
            ("look", "worker", "never"),
        ]
        await room.say(await room.session(tools=tools, approval="ask"))
        job = await worker.next_job()
        assert {tool.approval for tool in job.tools} == {"ask"}


def mute() -> None:
    """Ring nothing."""


async def test_a_lost_ring_costs_time_and_nothing_else() -> None:
    """B1: what nobody rang for is found by looking."""
    async with engine() as room:
        session = await room.session()
        ring, room.pool.bell.set = room.pool.bell.set, mute
        accepted = await room.say(session)
        worker, _, _ = await room.join()
        room.pool.bell.set = ring
        assert (await worker.next_job()).claim.run_id == accepted.run_id


async def test_a_run_that_waited_too_long_expires_when_its_turn_comes() -> None:
    """L13: it ends with an error that says so."""
    limits = structs.replace(QUICK, queue_timeout_s=-1.0)
    async with engine(limits) as room:
        session = await room.session()
        accepted = await room.say(session)
        await room.join()
        info = await room.ended(session, accepted.run_id)
        assert (info.status, info.error_code) == ("expired", "expired")
        assert await room.log(accepted.run_id) == ["RUN_STARTED", "RUN_ERROR"]


async def test_three_claims_without_a_finished_turn_fail_the_run() -> None:
    """B1: a run that kills its workers does not go round for ever."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        accepted = await room.say(session)
        for epoch in (1, 2, 3):
            hand = Hand(link, await worker.next_job())
            assert hand.claim.epoch == epoch
            if epoch == 1:
                await hand.say("half a thou")
            await link.release(hand.claim)
        info = await room.ended(session, accepted.run_id)
        assert (info.status, info.error_code) == ("failed", "crash_loop")
        assert (await room.log(accepted.run_id))[-2:] == ["STEP_FINISHED", "RUN_ERROR"]
        assert worker.jobs.empty()


async def test_a_draining_gateway_claims_nothing_and_waits_for_the_workers() -> None:
    """B1: SIGTERM: what was given back goes on after the next start."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        await room.say(session)
        hand = Hand(link, await worker.next_job())
        draining = asyncio.create_task(room.pool.drain(5.0))
        await soon(worker.drained.wait())
        late = await room.say(await room.session())
        assert late.claimed is None
        assert not draining.done()
        await link.release(hand.claim)
        await soon(draining)
        assert worker.jobs.empty()
        assert (await room.store.get_run(hand.run_id)).status == "running"
        assert (await room.store.get_run(late.run_id)).status == "queued"


async def test_a_cancelled_run_ends_even_if_there_is_no_worker() -> None:
    """L14: a queued run that is only to be ended needs nobody to run it."""
    async with engine() as room:
        session = await room.session()
        accepted = await room.say(session)
        await soon(room.intake.cancel(ANN, session_id=session.id))
        assert (await room.ended(session, accepted.run_id)).status == "cancelled"
        assert await room.log(accepted.run_id) == ["RUN_STARTED", "RUN_FINISHED"]


async def test_runs_whose_rows_cannot_be_read_are_ended_and_the_queue_goes_on(tmp_path: Path) -> None:
    """B1: what a run was given, or its agent, is damaged; it fails, and the runs of others are claimed."""
    path = tmp_path / "agio.db"
    async with engine(path=path) as room:
        sessions = [await room.session() for _ in range(3)]
        spoilt = [(await room.say(session)).run_id for session in sessions]
        good = (await room.say(await room.session(CID), who=CID)).run_id
    connection = cast("Connection", apsw.Connection(str(path)))
    connection.execute("update runs set input = x'00' where run_id = ?", (spoilt[0],))
    connection.execute("update runs set input = null where run_id = ?", (spoilt[1],))
    connection.execute("update agents set output_schema = x'00' where id = ?", (sessions[2].agent_id,))
    connection.close()
    async with engine(path=path) as room:
        worker, _, _ = await room.join()
        assert (await worker.next_job()).claim.run_id == good
        for session, run_id in zip(sessions[:2], spoilt, strict=False):
            await room.ended(session, run_id)
            assert await room.log(run_id) == ["RUN_STARTED", "RUN_ERROR"]
        for run_id in spoilt:
            info = await room.store.get_run(run_id)
            assert (info.status, info.error_code) == ("failed", "run_unreadable")
