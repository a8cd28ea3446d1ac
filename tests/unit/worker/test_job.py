"""A job becomes a run: its agent, tools and history are put together, and what is missing ends it with a clear word."""

import asyncio
import threading
from collections.abc import Sequence

import pytest
from msgspec import structs

from agio import Agent, ScriptedDriver, ToolContext, tool
from agio.core.engine.context import NoContext, Snippet
from agio.core.engine.runner import RunHooks, RunResult
from agio.core.link.link import ToolReply
from agio.core.store.repository import Append, RunLog
from agio.drivers.scripted import ScriptedCall, ScriptedTurn
from agio.errors import StoreError, ToolError
from agio.protocol.events import RunError, RunFinished, ToolCallResult
from agio.protocol.messages import (
    ContextEntry,
    Json,
    RunAgentInput,
    ToolDeclaration,
    UserMessage,
)
from agio.worker.app import App
from agio.worker.service import WorkerService
from tests.unit.worker.ledger import CLAIM, PATIENCE_S, Ledger, gateway_tool, idle, job, offer, run, worker


@tool
def ring(times: int, context: ToolContext) -> str:
    """Ring a bell."""
    return f"{times} rings for {context.agent}"


async def test_a_job_runs_from_its_log_to_its_end() -> None:
    """R5: the worker runs what it is sent and streams every event to the gateway, gap-free after RUN_STARTED."""
    ledger = Ledger()
    service, driver = await worker(ledger, ScriptedTurn("Hello you."))
    await run(service, job("hello"))
    assert ledger.types[0] == "STEP_STARTED"
    assert ledger.types[-1] == "RUN_FINISHED"
    assert ledger.writes[-1].end == "completed"
    assert driver.requests[0].messages[-1] == UserMessage(id="msg_1", content="hello")
    assert service.running == 0
    assert ledger.released == []


async def test_a_gateway_tool_is_called_over_the_link_with_the_calls_own_key() -> None:
    """R7: a tool of the gateway's is asked for over the link; its key is made of run, step and index."""
    ledger = Ledger()
    ledger.tool = lambda name, arguments: ToolReply(f"{name} says {arguments['word']}", "no_luck")
    turns = ScriptedTurn(calls=[ScriptedCall("lookup", {"word": "agio"})]), ScriptedTurn("Well.")
    service, driver = await worker(ledger, *turns)
    await run(service, job(tools=[gateway_tool()]))
    assert ledger.called == [("call_1_1_0", "lookup", {"word": "agio"})]
    result = next(event for event in ledger.events if isinstance(event, ToolCallResult))
    assert result.content == "lookup says agio"
    assert result.metadata == {"error": "no_luck", "run": "run_1", "seq": 7}
    assert driver.requests[0].tools[0].name == "lookup"


async def test_arguments_that_do_not_fit_never_reach_the_gateway() -> None:
    """R9: arguments that do not fit the schema are told to the model."""
    ledger = Ledger()
    turns = ScriptedTurn(calls=[ScriptedCall("lookup", {"word": 7})]), ScriptedTurn("Well.")
    service, _ = await worker(ledger, *turns)
    await run(service, job(tools=[gateway_tool()]))
    assert ledger.called == []
    result = next(event for event in ledger.events if isinstance(event, ToolCallResult))
    assert "do not fit" in str(result.content)


@pytest.mark.parametrize(
    "refusal", [ToolError("forbidden", "Not yours."), StoreError("invalid_append", "No.")]
)
async def test_a_refusal_by_the_gateway_ends_the_run(refusal: ToolError | StoreError) -> None:
    """R9: a tool endpoint of ours that refuses ends the run with RUN_ERROR."""

    def refuse(name: str, arguments: dict[str, Json]) -> ToolReply:
        raise refusal

    ledger = Ledger()
    ledger.tool = refuse
    service, _ = await worker(ledger, ScriptedTurn(calls=[ScriptedCall("lookup", {"word": "x"})]))
    await run(service, job(tools=[gateway_tool()]))
    last = ledger.events[-1]
    assert isinstance(last, RunError)
    assert last.code == refusal.code


async def test_a_tool_of_the_module_runs_in_the_worker_under_the_offers_terms() -> None:
    """R5: a Python tool of the module runs here; whether a person is asked first is the gateway's to say."""
    ledger = Ledger()
    app = App(tools={"ring": ring})
    [terms] = app.tool_offers()
    turns = ScriptedTurn(calls=[ScriptedCall("ring", {"times": 3})]), ScriptedTurn("Rung.")
    service, _ = await worker(ledger, *turns, app=app)
    await run(service, job(tools=[terms]))
    result = next(event for event in ledger.events if isinstance(event, ToolCallResult))
    assert result.content == "3 rings for helper"
    [begin] = [begin for write in ledger.writes for begin in write.begins]
    assert (begin.key, begin.tool, begin.effect) == ("call_1_1_0", "ring", "once")

    asking = Ledger()
    service, _ = await worker(asking, *turns, app=app)
    await run(service, job(tools=[structs.replace(terms, approval="ask")]))
    assert asking.writes[-1].end == "interrupted"
    assert ring.approval == "never"


async def test_an_agent_that_always_asks_asks_for_every_tool() -> None:
    """B7: an agent's policy `ask` holds for the gateway's tools too."""
    ledger = Ledger()
    service, _ = await worker(ledger, ScriptedTurn(calls=[ScriptedCall("lookup", {"word": "x"})]))
    agent = structs.replace(offer(), approval="ask")
    await run(service, job(tools=[gateway_tool()], agent=agent))
    assert ledger.writes[-1].end == "interrupted"
    assert ledger.called == []


async def test_what_the_client_offers_and_knows_comes_from_the_log() -> None:
    """B8: client-side tools and context are in RUN_STARTED, so any worker that takes the run has them."""
    ledger = Ledger()
    given = RunAgentInput("thr_1", "run_1", [UserMessage(id="msg_1", content="hi")])
    given.tools = [ToolDeclaration("paint", "Paint the page.")]
    given.context = [ContextEntry("the page", "a blue door")]
    service, driver = await worker(ledger, ScriptedTurn(calls=[ScriptedCall("paint", {})]))
    await run(service, job(given=given))
    assert driver.requests[0].tools[0].description == "(Offered by the client.) Paint the page."
    assert "a blue door" in str(driver.requests[0].messages)
    assert ledger.writes[-1].end == "completed"
    outcome = ledger.writes[-1].outcome
    assert outcome is not None
    assert list(outcome.pending) == ["call_1_1_0"]


async def test_the_history_is_folded_from_the_logs_of_earlier_runs() -> None:
    """R5: a worker reads no store: the session's earlier runs come with the job."""
    before = Ledger()
    service, _ = await worker(before, ScriptedTurn("I am Ada."))
    first = job("who are you?")
    await run(service, first)
    payload = first.log.payload + b"".join(write.frame.payload for write in before.writes)
    turns = [turn for write in before.writes for turn in write.turns]
    earlier = RunLog(structs.replace(first.log.info, status="completed"), payload, turns)
    ledger = Ledger()
    service, driver = await worker(ledger, ScriptedTurn("As I said."))
    await run(service, job("again?", history=[earlier]))
    assert [message.role for message in driver.requests[0].messages] == ["user", "assistant", "user"]


class Remembers(NoContext):
    """Knows one thing."""

    async def memories(self, query: str, limit: int) -> Sequence[Snippet]:
        return [Snippet("note", "the bell is cracked")]


class Seen(RunHooks):
    """Remembers how a run ended."""

    def __init__(self) -> None:
        self.ended: RunResult | None = None

    async def run_ended(self, result: RunResult) -> None:
        self.ended = result


async def test_an_agent_in_code_runs_with_its_own_parts() -> None:
    """R5: an agent of the module keeps its model, its tools, its source and its hooks."""
    driver = ScriptedDriver([ScriptedTurn(calls=[ScriptedCall("ring", {"times": 1})]), ScriptedTurn("Done.")])
    hooks = Seen()
    agent = Agent("bell", "Ring.", model=driver, tools=[ring], hooks=hooks, source=Remembers())
    ledger = Ledger()
    service, _ = await worker(ledger, app=App({"bell": agent}))
    await run(service, job(agent=offer("scripted", "code", "bell")))
    assert ledger.writes[-1].end == "completed"
    assert "1 rings for bell" in str(ledger.events)
    assert "the bell is cracked" in str(driver.requests[0].messages)
    assert hooks.ended is not None
    assert hooks.ended.text == "Done."


async def refused(ledger: Ledger, service: WorkerService, **given: object) -> RunError:
    await run(service, job(**given))  # pyright: ignore[reportArgumentType]
    assert ledger.writes[-1].end == "failed"
    last = ledger.events[-1]
    assert isinstance(last, RunError)
    assert last.code == ledger.writes[-1].error_code
    return last


async def test_what_cannot_be_put_together_ends_the_run_with_a_clear_code() -> None:
    """L13: an unknown provider, a missing key, tool or agent: the run ends with RUN_ERROR, and never hangs."""
    real = WorkerService("wrk_2", room=1, endpoints={})

    async def joined() -> Ledger:
        ledger = Ledger()
        await real.join(ledger)
        return ledger

    assert (await refused(await joined(), real, agent=offer("nobody"))).code == "provider_missing"
    assert (await refused(await joined(), real, agent=offer("openai"))).code == "missing_provider_key"
    assert (await refused(await joined(), real, agent=offer("demo", "code", "bell"))).code == "agent_missing"
    away = structs.replace(gateway_tool("away"), kind="module")
    assert (await refused(await joined(), real, agent=offer("demo"), tools=[away])).code == "tool_missing"
    broken = structs.replace(gateway_tool(), parameters={"type": "object", "properties": 7})
    assert (await refused(await joined(), real, agent=offer("demo"), tools=[broken])).code == "invalid_schema"
    given = RunAgentInput("thr_1", "run_1", [UserMessage(id="msg_1", content="hi")])
    given.tools = [ToolDeclaration(f"t{at}", "") for at in range(129)]
    assert (await refused(await joined(), real, agent=offer("demo"), given=given)).code == "invalid_tool"


async def test_a_log_that_cannot_be_read_ends_the_run() -> None:
    """L13: even a damaged log does not leave a run hanging."""
    ledger = Ledger()
    service, _ = await worker(ledger)
    assert (await refused(ledger, service, payload=b"garbage\n")).code == "store_corrupt"
    assert ledger.types == ["RUN_ERROR"]

    ledger = Ledger()
    service, _ = await worker(ledger)
    damaged = structs.replace(job().log, payload=b"garbage\n")
    assert (await refused(ledger, service, history=[damaged])).code == "store_corrupt"


async def test_a_cancel_from_the_gateway_ends_the_run() -> None:
    """L14: a cancel closes the model's stream and ends the log."""
    ledger = Ledger()
    service, _ = await worker(ledger, ScriptedTurn("Once upon", waits=asyncio.Event()))
    service.start(job())
    await ledger.until(lambda seen: "TEXT_MESSAGE_CHUNK" in seen.types)
    service.cancel("run_1", 2)
    service.cancel("run_1", 1)
    await idle(service)
    assert ledger.writes[-1].end == "cancelled"


async def test_no_tool_starts_after_an_answer_said_cancel() -> None:
    """L14: the answer to the append that would begin a call carries the cancel: the call never begins."""
    ledger = Ledger()

    def asked(write: Append) -> bool:
        return bool(write.begins)

    ledger.cancel_after = asked
    service, _ = await worker(ledger, ScriptedTurn(calls=[ScriptedCall("lookup", {"word": "x"})]))
    await run(service, job(tools=[gateway_tool()]))
    assert ledger.called == []
    assert ledger.writes[-1].end == "cancelled"
    last = ledger.events[-1]
    assert isinstance(last, RunFinished)


async def test_a_dropped_run_writes_nothing_more() -> None:
    """B1: a run that is somebody else's now is let go without a word."""
    ledger = Ledger()
    service, _ = await worker(ledger, ScriptedTurn("Once upon", waits=asyncio.Event()))
    service.start(job())
    await ledger.until(lambda seen: "TEXT_MESSAGE_CHUNK" in seen.types)
    written = len(ledger.writes)
    service.drop("run_1", 1)
    await idle(service)
    assert len(ledger.writes) == written
    assert ledger.released == []


async def test_a_newer_claim_of_the_same_run_replaces_the_older() -> None:
    """B1: the same worker may be given the run again; the older claim falls silent."""
    ledger = Ledger()
    service, _ = await worker(ledger, ScriptedTurn(waits=asyncio.Event()), ScriptedTurn("Done."))
    first = job()
    service.start(first)
    await ledger.until(lambda seen: bool(seen.writes))
    log = structs.replace(
        first.log,
        info=structs.replace(first.log.info, epoch=2),
        payload=first.log.payload + b"".join(write.frame.payload for write in ledger.writes),
    )
    service.start(structs.replace(first, claim=structs.replace(CLAIM, epoch=2), log=log))
    await idle(service)
    assert ledger.writes[-1].end == "completed"
    assert ledger.writes[-1].frame.epoch == 2


async def test_a_gateway_that_goes_in_the_middle_of_a_call_does_not_fail_the_run() -> None:
    """B1: what became of a call is for the next claim to find out; the run is given back as it is."""

    def going(name: str, arguments: dict[str, Json]) -> ToolReply:
        raise StoreError("link_lost", "The gateway stops.")

    ledger = Ledger()
    ledger.tool = going
    service, _ = await worker(ledger, ScriptedTurn(calls=[ScriptedCall("lookup", {"word": "x"})]))
    await run(service, job(tools=[gateway_tool()]))
    assert ledger.writes[-1].end is None
    assert ledger.released == [CLAIM]


async def test_a_worker_that_may_have_been_given_up_begins_no_tool() -> None:
    """B1: a process that was frozen wakes up, finds itself out of touch, and gives its run back unacted."""
    ledger = Ledger()
    rung: list[int] = []

    @tool
    def toll(times: int) -> str:
        """Ring once too often."""
        rung.append(times)
        return "rung"

    def fall_silent(write: Append) -> bool:
        ledger.silent = True
        return False

    ledger.cancel_after = fall_silent
    turn = ScriptedTurn(calls=[ScriptedCall("toll", {"times": 1})])
    app = App(tools={"toll": toll})
    service, _ = await worker(ledger, turn, app=app)
    await run(service, job(tools=app.tool_offers()))
    assert rung == []
    assert ledger.writes[-1].end is None
    assert ledger.released == [CLAIM]


class Breaking(Ledger):
    """A link that breaks when a tool's thread is about to act, and is down until it is mended."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_for = asyncio.Event()
        self.mended = asyncio.Event()
        self._loop_thread = threading.get_ident()
        self._down = False

    def out_of_touch(self) -> bool:
        if threading.get_ident() != self._loop_thread:
            self._down = not self.mended.is_set()
        return self._down

    async def linked(self) -> None:
        if self._down:
            self.waited_for.set()
            await self.mended.wait()
            self._down = False


async def _at_a_break(honoured: Sequence[str]) -> tuple[Breaking, list[int]]:
    """Let the link break right before two tools act and come back, with these claims honoured; return what was rung."""
    ledger = Breaking()
    rung: list[int] = []

    @tool
    def toll(times: int) -> str:
        """Ring."""
        rung.append(times)
        return "rung"

    app = App(tools={"toll": toll})
    calls = [ScriptedCall("toll", {"times": times}) for times in (1, 2)]
    turns = ScriptedTurn(calls=calls), ScriptedTurn("Rung.")
    service, _ = await worker(ledger, *turns, app=app)
    service.start(job(tools=app.tool_offers()))
    async with asyncio.timeout(PATIENCE_S):
        await ledger.waited_for.wait()
    assert rung == []
    ledger.honoured = list(honoured)
    await service.join(ledger)
    ledger.mended.set()
    await idle(service)
    return ledger, rung


async def test_a_tool_about_to_act_when_the_link_breaks_acts_once_it_is_mended() -> None:
    """B1: a link that is mended in time costs a run nothing, not even a call that was on its way to a thread."""
    ledger, rung = await _at_a_break(honoured=["run_1"])
    assert sorted(rung) == [1, 2]
    assert ledger.writes[-1].end == "completed"
    assert ledger.released == []


async def test_a_tool_that_waited_for_the_link_does_not_act_for_a_run_others_have() -> None:
    """B1: a worker that comes back too late begins nothing more, though its link is whole again."""
    ledger, rung = await _at_a_break(honoured=[])
    assert rung == []
    assert ledger.writes[-1].end is None
    assert ledger.released == []


async def test_runs_stopped_in_a_silence_are_given_back() -> None:
    """B1: whether the gateway has given them to others only the gateway knows; it must not wait for us in vain."""
    ledger = Ledger()
    service, _ = await worker(ledger, ScriptedTurn("Once", waits=asyncio.Event()))
    service.start(job())
    await ledger.until(lambda seen: "TEXT_MESSAGE_CHUNK" in seen.types)
    written = len(ledger.writes)
    service.release_all()
    await idle(service)
    assert len(ledger.writes) == written
    assert ledger.released == [CLAIM]
