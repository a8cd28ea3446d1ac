"""Leaving: turns are finished, runs given back, jobs that come too late returned at once."""

import asyncio

from agio import tool
from agio.drivers.scripted import ScriptedCall, ScriptedTurn
from agio.worker.app import App
from tests.unit.worker.ledger import CLAIM, PATIENCE_S, Ledger, gateway_tool, idle, job, worker


async def test_a_worker_that_leaves_finishes_the_turn_and_gives_the_run_back() -> None:
    """R5: after SIGTERM the turn under way is finished and committed; the next one is somebody else's."""
    gate = asyncio.Event()
    ledger = Ledger()
    turns = ScriptedTurn("Let me see.", calls=[ScriptedCall("lookup", {"word": "x"})], waits=gate)
    service, _ = await worker(ledger, turns, ScriptedTurn("Found.", waits=asyncio.Event()))
    service.start(job(tools=[gateway_tool()]))
    await ledger.until(lambda seen: "TEXT_MESSAGE_CHUNK" in seen.types)
    leaving = asyncio.create_task(service.leave(PATIENCE_S))
    await asyncio.sleep(0)
    gate.set()
    async with asyncio.timeout(PATIENCE_S):
        await leaving
    assert ledger.left
    assert ledger.released == [CLAIM]
    assert [turn.step for write in ledger.writes for turn in write.turns] == [1]
    assert "RUN_FINISHED" not in ledger.types


async def test_a_call_that_must_happen_once_is_finished_before_the_run_is_given_back() -> None:
    """B1: a worker that leaves does not cut off what must not be done twice."""
    begun, go = asyncio.Event(), asyncio.Event()

    @tool
    async def ring() -> str:
        """Ring."""
        begun.set()
        await go.wait()
        return "rung"

    ledger = Ledger()
    app = App(tools={"ring": ring})
    turns = ScriptedTurn(calls=[ScriptedCall("ring")]), ScriptedTurn("Rung.", waits=asyncio.Event())
    service, _ = await worker(ledger, *turns, app=app)
    service.start(job(tools=app.tool_offers()))
    async with asyncio.timeout(PATIENCE_S):
        await begun.wait()
        service.drain(PATIENCE_S)
        go.set()
        await service.idle()
    assert "rung" in str(ledger.events)
    assert ledger.released == [CLAIM]


async def test_a_run_that_does_not_come_to_rest_is_given_back_when_the_time_is_over() -> None:
    """R5: leaving takes no longer than it is allowed to."""
    ledger = Ledger()
    service, _ = await worker(ledger, ScriptedTurn("Once upon", waits=asyncio.Event()))
    service.start(job())
    await ledger.until(lambda seen: "TEXT_MESSAGE_CHUNK" in seen.types)
    written = len(ledger.writes)
    async with asyncio.timeout(PATIENCE_S):
        await service.leave(0.05)
    assert ledger.released == [CLAIM]
    assert len(ledger.writes) == written


async def test_a_run_that_ends_in_its_last_turn_is_not_given_back() -> None:
    """R5: a run whose last turn is under way simply ends."""
    gate = asyncio.Event()
    ledger = Ledger()
    service, _ = await worker(ledger, ScriptedTurn("Done.", waits=gate))
    service.start(job())
    await ledger.until(lambda seen: "TEXT_MESSAGE_CHUNK" in seen.types)
    service.drain(PATIENCE_S)
    gate.set()
    await idle(service)
    assert ledger.writes[-1].end == "completed"
    assert ledger.released == []


async def test_a_job_that_comes_too_late_goes_back_at_once() -> None:
    """R5: a draining worker runs nothing new; after a new greeting it does again."""
    ledger = Ledger()
    service, _ = await worker(ledger, ScriptedTurn("Done."))
    service.drain(PATIENCE_S)
    service.start(job())
    await idle(service)
    assert ledger.released == [CLAIM]
    assert ledger.writes == []
    await service.join(ledger)
    service.start(job())
    await idle(service)
    assert ledger.writes[-1].end == "completed"


async def test_claims_the_gateway_does_not_honour_are_dropped_on_coming_back() -> None:
    """B1: a worker presents its claims; what others have meanwhile it lets go."""
    ledger = Ledger()
    service, _ = await worker(ledger, ScriptedTurn("Once", waits=asyncio.Event()))
    service.start(job())
    await ledger.until(lambda seen: "TEXT_MESSAGE_CHUNK" in seen.types)
    written = len(ledger.writes)
    ledger.honoured = ["run_1"]
    await service.join(ledger)
    assert ledger.greetings[-1].claims == [CLAIM]
    assert service.running == 1
    ledger.honoured = []
    await service.join(ledger)
    await idle(service)
    assert len(ledger.writes) == written
    assert ledger.released == []
