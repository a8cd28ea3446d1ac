"""Whole runs over a link: a real worker with a scripted model, on a link that holds and on one that breaks."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

import pytest

from agio import ScriptedDriver, tool
from agio.core.config import ServerLimits
from agio.core.engine.journal import PACE_S
from agio.core.model import ModelEvent, ModelRequest
from agio.core.store.records import AgentTool
from agio.drivers.endpoint import Endpoint
from agio.drivers.scripted import ScriptedCall, ScriptedTurn
from agio.protocol.events import AgentEvent, TextMessageChunk, ToolCallResult
from agio.protocol.messages import ToolMessage
from agio.worker.app import App
from agio.worker.service import WorkerService
from tests.contract.link.conftest import Counted
from tests.support.engine import ANN, Engine, engine
from tests.support.official import OfficialVerifier, check_flow
from tests.support.wiring import Join, Way, cabled, served_link, visiting

ASKS = ScriptedTurn(
    "Let me see.",
    calls=[ScriptedCall("act", {"word": "ping"}), ScriptedCall("ring", {"times": 2})],
)
SAYS = ScriptedTurn("It acted, and it rang.")
TOOLS = [AgentTool("act"), AgentTool("ring")]
PATIENT = ServerLimits(link_grace_s=60.0, tick_s=0.05, sweep_s=0.05)


class Bell:
    """A tool of the worker's that counts."""

    def __init__(self) -> None:
        self.rung = 0

    def ring(self, times: int) -> str:
        """Ring a bell."""
        self.rung += times
        return f"rung {self.rung}"


class Slow(ScriptedDriver):
    """A model that says a word at a time, each of which becomes a commit of its own."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        async with aclosing(super().stream(request)) as batches:
            async for batch in batches:
                await asyncio.sleep(2 * PACE_S)
                yield batch


def make_worker(
    bell: Bell, answer: Callable[[], ScriptedTurn] = lambda: SAYS, name: str = "wrk_1"
) -> WorkerService:
    """Make a worker whose model calls two tools and then answers."""

    def script(request: ModelRequest) -> ScriptedTurn:
        return answer() if isinstance(request.messages[-1], ToolMessage) else ASKS

    def open_driver(provider: str, endpoint: Endpoint) -> ScriptedDriver:
        return Slow(script)

    app = App(tools={"ring": tool(name="ring")(bell.ring)})
    return WorkerService(name, room=5, endpoints={}, app=app, open_driver=open_driver)


async def finished(room: Engine, official: OfficialVerifier) -> list[AgentEvent]:
    """Send a message and return the events of its run, which ends well."""
    session = await room.session(tools=TOOLS)
    sent = await room.say(session)
    info = await room.ended(session, sent.run_id)
    events = await room.store.get_events(sent.run_id)
    assert info.status == "completed"
    assert info.last_seq == len(events)
    check_flow(events, official)
    executions = (await room.store.list_tool_executions(ANN.tenant, ANN.user, sent.run_id)).items
    assert {(each.tool, each.state) for each in executions} == {("act", "finished"), ("ring", "finished")}
    return events


async def test_a_run_with_tools_on_both_sides_is_the_same_over_every_link(
    room: Engine, join: Join, counted: Counted, official: OfficialVerifier
) -> None:
    """R6: a run streams the same events whether its worker is in the process or behind a socket."""
    bell = Bell()
    service = make_worker(bell)
    await join(service)
    events = await finished(room, official)
    results = sorted(str(event.content) for event in events if isinstance(event, ToolCallResult))
    assert results == ["ping 1", "rung 2"]
    text = [event.delta for event in events if isinstance(event, TextMessageChunk)]
    assert "".join(map(str, text)) == ASKS.text + SAYS.text
    assert (counted.times, bell.rung) == (1, 2)
    await service.aclose()


async def test_a_run_given_back_by_a_worker_that_leaves_is_finished_by_another(
    room: Engine, join: Join, counted: Counted, official: OfficialVerifier
) -> None:
    """B1: draining costs a run nothing: the next worker goes on from the log, and no call is made again."""
    bell = Bell()
    endless = ScriptedTurn("Never said to the end", waits=asyncio.Event())
    first = make_worker(bell, lambda: endless)
    await join(first)
    session = await room.session(tools=TOOLS)
    sent = await room.say(session)
    async with asyncio.timeout(60):
        async with room.hub.subscribe(session.id, 0) as reader:
            while True:
                piece = await reader.next()
                assert piece is not None
                if b"rung 2" in piece.events.payload:
                    break
        second = make_worker(bell, name="wrk_2")
        await join(second)
        await first.leave(0.1)
    info = await room.ended(session, sent.run_id)
    assert (info.status, info.epoch) == ("completed", 2)
    check_flow(await room.store.get_events(sent.run_id), official)
    assert (counted.times, bell.rung) == (1, 2)
    await second.aclose()


async def test_a_run_stopped_in_a_silence_goes_on_though_the_link_held(
    room: Engine, join: Join, counted: Counted, official: OfficialVerifier
) -> None:
    """B1: a worker gives its runs up before its gateway does; when the silence ends in between, none is lost."""
    bell = Bell()
    answers = iter([ScriptedTurn("Never said to the end", waits=asyncio.Event()), SAYS])
    service = make_worker(bell, lambda: next(answers))
    await join(service)
    session = await room.session(tools=TOOLS)
    sent = await room.say(session)
    async with asyncio.timeout(60), room.hub.subscribe(session.id, 0) as reader:
        payload = b""
        while b"Never" not in payload:
            piece = await reader.next()
            assert piece is not None
            payload += piece.events.payload
    service.release_all()
    info = await room.ended(session, sent.run_id)
    assert (info.status, info.epoch) == ("completed", 2)
    check_flow(await room.store.get_events(sent.run_id), official)
    assert (counted.times, bell.rung) == (1, 2)
    await service.aclose()


@pytest.mark.parametrize("lost", ["answer", "question"])
async def test_a_run_survives_a_link_that_breaks_at_any_message(
    counted: Counted, official: OfficialVerifier, lost: Way
) -> None:
    """B1: wherever the link breaks, the run goes on: each event once, each call once."""
    bell = Bell()
    tools = {"act": tool(name="act")(counted.act)}
    async with (
        engine(PATIENT, tools=tools) as room,
        served_link(room) as far,
        cabled(far) as (url, cable),
        visiting(url) as join,
    ):
        service = make_worker(bell)
        await join(service)
        whole = _shape(await finished(room, official))
        runs = 1
        while not cable.left:  # until a run is over before it is cut
            cable.cut_after(runs, lost)
            assert _shape(await finished(room, official)) == whole, f"cut at piece {runs}"
            runs += 1
        assert cable.cuts == runs - 2
        assert cable.cuts > 6
        assert (counted.times, bell.rung) == (runs, 2 * runs)
        await service.aclose()


def _shape(events: list[AgentEvent]) -> list[str]:
    """Return what must be equal in two runs of the same script."""
    text = "".join(str(event.delta) for event in events if isinstance(event, TextMessageChunk))
    return [text, *(event.type for event in events if not isinstance(event, TextMessageChunk))]
