"""The engine room with a real worker on a direct link: only the model is scripted."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agio.core.config import ServerLimits
from agio.core.engine.runner import RunStream
from agio.core.store.records import AgentTool, SessionRecord
from agio.core.store.repository import RunInfo
from agio.core.tool import AnyTool, ToolContext, tool
from agio.drivers.endpoint import Endpoint
from agio.drivers.scripted import ScriptedCall, ScriptedDriver, ScriptedTurn
from agio.protocol.codec import decode_lines
from agio.protocol.events import AgentEvent, RunStarted, ToolCallResult
from agio.protocol.grammar import Grammar
from agio.protocol.messages import ResumeEntry
from agio.tools.calculator import calculator
from agio.worker.job import RunningJob
from agio.worker.service import WorkerService
from tests.support.engine import ANN, Engine, engine, soon


@asynccontextmanager
async def working(room: Engine, driver: ScriptedDriver, name: str = "w1") -> AsyncGenerator[WorkerService]:
    """Let a real worker work for a gateway; at the end it is gone as if its process had been killed."""
    worker = WorkerService(
        name, room=10, endpoints={"demo": Endpoint()}, open_driver=lambda provider, endpoint: driver
    )
    link = room.pool.connect(worker)
    await soon(worker.join(link))
    try:
        yield worker
    finally:
        link.closed()
        await soon(worker.aclose())


async def stream(room: Engine, session: SessionRecord, last: RunInfo) -> list[AgentEvent]:
    """Read a session whose runs have ended, as a client would; its order must be right."""
    events = decode_lines(await room.read(session, last.first_pos + last.last_seq))
    Grammar().check_stream(events)
    return events


def texts(events: Sequence[AgentEvent]) -> list[str]:
    return [str(event.content) for event in events if isinstance(event, ToolCallResult)]


async def test_a_tool_of_the_gateway_is_called_and_its_result_answered() -> None:
    """R5, R7, R8: the loop is the worker's, the tool the gateway's, the log the store's."""
    driver = ScriptedDriver(
        [
            ScriptedTurn(calls=[ScriptedCall("calculator", {"expression": "6*7"})]),
            ScriptedTurn("It is 42."),
            ScriptedTurn("Still 42."),
        ]
    )
    async with engine(tools={"calculator": calculator}) as room, working(room, driver):
        session = await room.session(tools=[AgentTool("calculator")])
        accepted = await room.say(session, "6*7?")
        first = await room.ended(session, accepted.run_id)
        assert first.status == "completed"
        second = await room.ended(session, (await room.say(session, "Sure?")).run_id)
        events = await stream(room, session, second)
        assert texts(events) == ["42"]
        assert [message.role for message in driver.requests[-1].messages].count("assistant") == 2
        (record,) = (await room.store.list_tool_executions("default", "ann", accepted.run_id)).items
        assert (record.state, record.effect) == ("finished", "read")
        stored = await room.store.list_messages("default", "ann", session.id)
        assert [message.role for message in stored.items] == [
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
            "assistant",
        ]


def payer(paid: list[str]) -> Callable[[ToolContext, int], str]:
    def pay(context: ToolContext, amount: int) -> str:
        """Pay."""
        paid.append(f"{context.user} {amount}")
        return "Paid."

    return pay


async def test_an_approved_call_runs_in_the_next_run_after_a_restart(tmp_path: Path) -> None:
    """B7: the question outlives the server; what a person changed is what is done, once."""
    paid: list[str] = []
    tools: dict[str, AnyTool] = {"pay": tool(approval="ask")(payer(paid))}
    path = tmp_path / "agio.db"
    driver = ScriptedDriver(
        [ScriptedTurn(calls=[ScriptedCall("pay", {"amount": 5})]), ScriptedTurn("Paid three.")]
    )
    async with engine(tools=tools, path=path) as room, working(room, driver):
        session = await room.session(tools=[AgentTool("pay")])
        asked = await room.ended(session, (await room.say(session, "Pay 5")).run_id)
        assert asked.status == "interrupted"
        assert paid == []
    async with engine(tools=tools, path=path) as room, working(room, driver):
        (question,) = await room.store.list_interrupts("default", "ann", session.id)
        answer = ResumeEntry(question.id, "resolved", {"approved": True, "editedArgs": {"amount": 3}})
        accepted = await room.say(session, "", resume=[answer])
        ended = await room.ended(session, accepted.run_id)
        assert ended.status == "completed"
        assert paid == ["ann 3"]
        events = await stream(room, session, ended)
        assert "Paid." in texts(events)[0]
        (record,) = (await room.store.list_tool_executions("default", "ann", accepted.run_id)).items
        assert record.state == "finished"


async def test_a_cancelled_run_is_ended_by_the_worker_in_good_time() -> None:
    """L14: what was said stays, and the gateway need not step in."""
    driver = ScriptedDriver([ScriptedTurn("One two three", waits=asyncio.Event())])
    async with engine(ServerLimits()) as room, working(room, driver):
        session = await room.session()
        accepted = await room.say(session)
        await room.read(session, 5)
        await room.intake.cancel(ANN, session_id=session.id)
        ended = await room.ended(session, accepted.run_id)
        assert (ended.status, ended.epoch) == ("cancelled", 1)
        events = await stream(room, session, ended)
        assert isinstance(events[0], RunStarted)


async def test_a_run_whose_worker_is_killed_goes_on_with_another() -> None:
    """B1: only the open turn is done again; the reader sees one well-ordered stream."""
    hangs = ScriptedDriver(
        [
            ScriptedTurn(calls=[ScriptedCall("calculator", {"expression": "1+1"})]),
            ScriptedTurn("Half an answer", waits=asyncio.Event()),
        ]
    )
    answers = ScriptedDriver([ScriptedTurn("It is 2.")])
    async with engine(tools={"calculator": calculator}) as room:
        session = await room.session(tools=[AgentTool("calculator")])
        async with working(room, hangs):
            accepted = await room.say(session, "1+1?")
            await room.read(session, 12)
        async with working(room, answers, "w2"):
            ended = await room.ended(session, accepted.run_id)
            assert (ended.status, ended.epoch) == ("completed", 2)
            events = await stream(room, session, ended)
            assert texts(events) == ["2"]
            assert len(answers.requests) == 1


async def test_a_leaving_worker_gives_its_runs_back() -> None:
    """B1: SIGTERM: another goes on at once."""
    hangs = ScriptedDriver([ScriptedTurn("Half an answer", waits=asyncio.Event())])
    answers = ScriptedDriver([ScriptedTurn("A whole one.")])
    async with engine() as room:
        session = await room.session()
        async with working(room, hangs) as worker:
            accepted = await room.say(session)
            await room.read(session, 3)
            await soon(worker.leave(0.01))
            assert room.pool.runs == {}
        async with working(room, answers, "w2"):
            assert (await room.ended(session, accepted.run_id)).epoch == 2


async def test_a_run_that_has_ended_leaves_nothing_to_the_garbage_collector() -> None:
    """L4: what a run had is freed as it ends; looking for it in circles would cost every later run."""
    async with (
        engine() as room,
        working(room, ScriptedDriver([ScriptedTurn("a"), ScriptedTurn("b")])) as worker,
    ):
        session = await room.session()
        await room.ended(session, (await room.say(session, "One.")).run_id)
        await soon(worker.idle())
        gc.collect()
        before = _of_runs()
        gc.disable()
        try:
            await room.ended(session, (await room.say(session, "Two.")).run_id)
            await soon(worker.idle())
            left = [each for each in _of_runs() if not any(each is kept for kept in before)]
        finally:
            gc.enable()
        assert left == []


def _of_runs() -> list[object]:
    """What there is of runs in the process, of other tests too."""
    return [each for each in gc.get_objects() if isinstance(each, (RunningJob, RunStream))]
