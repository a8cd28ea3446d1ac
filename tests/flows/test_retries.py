"""A model that fails: tried again as a turn, what was shown taken back, each failure with its own code and limit."""

import asyncio
import resource
import socket
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest

from agio import Agent, AgentRunConfig, ModelError, ScriptedDriver, ScriptedTurn
from agio.core.config import AgentRunConfig as Config
from agio.core.engine.turn import retry_delay
from agio.core.model import ModelEvent, ModelRequest
from agio.protocol.events import ERROR, REWIND, AgentEvent, RunError, RunFinished, TextMessageChunk, seq_of
from agio.testing import ModelServer, Reply
from agio.testing.faults import (
    CutAfterEvents,
    Fault,
    HeadersOnly,
    HttpStatus,
    InvalidJson,
    NeverAnswer,
    NoEnd,
    Stall,
    StreamError,
    VendorError,
)
from tests.flows.scene import play, scripted
from tests.support.clock import pass_time, until
from tests.support.official import OfficialVerifier, check_flow
from tests.support.streams import customs

WIRES = ["openai-chat", "openai", "anthropic", "gemini"]
FAST = AgentRunConfig(backoff_s=0.0)
PATIENT = AgentRunConfig(backoff_s=0.0, first_token_timeout_s=600.0)
IDLE = AgentRunConfig(backoff_s=0.0, turn_timeout_s=3600.0, idle_timeout_s=600.0)

PASSING: list[tuple[Fault, str]] = [
    (VendorError("rate_limited", retry_after_s=0), "rate_limited"),
    (HttpStatus(500), "model_unavailable"),
    (VendorError("overloaded"), "model_overloaded"),
    (StreamError("overloaded", after_events=4), "model_overloaded"),
    (CutAfterEvents(5), "stream_broken"),
    (NoEnd(), "stream_broken"),
    (InvalidJson(after_events=4), "invalid_response"),
    (NeverAnswer(), "first_token_timeout"),
    (HeadersOnly(), "first_token_timeout"),
    (Stall(after_events=5), "idle_timeout"),
]


def agent_on(server: ModelServer, wire: str, config: AgentRunConfig = FAST) -> Agent:
    return Agent("r", model=f"{wire}:m", base_url=server.base_url(wire), api_key="test-key", config=config)


def kept_text(events: list[AgentEvent]) -> str:
    """Return the text a client that honours rewinds shows in the end."""
    shown: list[AgentEvent] = []
    for event in events:
        for rewind in customs([event], REWIND):
            target = rewind["to_seq"]
            assert isinstance(target, int)
            shown = [earlier for earlier in shown if seq_of(earlier) <= target]
        shown.append(event)
    return "".join(str(event.delta) for event in shown if isinstance(event, TextMessageChunk))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("fault", "code"), PASSING, ids=lambda value: str(value)[:40])
async def test_a_passing_failure_is_told_and_tried_again(
    wire: str, fault: Fault, code: str, official: OfficialVerifier
) -> None:
    """C6: one failure of each kind, and the run completes with the whole answer, once."""
    silent, stalls = isinstance(fault, NeverAnswer | HeadersOnly), isinstance(fault, Stall)
    config = PATIENT if silent else IDLE if stalls else FAST
    async with ModelServer() as server, agent_on(server, wire, config) as agent:
        server.script(
            Reply("A whole answer.", chunk_chars=3, fault=fault), Reply("A whole answer.", chunk_chars=3)
        )
        run = agent.arun_stream("Hi")
        events: list[AgentEvent] = []

        async def read() -> None:
            async for event in run:
                events.append(event)

        reading = asyncio.create_task(read())
        await server.wait_for_calls()
        if stalls:
            await until(lambda: any(isinstance(event, TextMessageChunk) for event in events))
        if silent or stalls:
            pass_time(600)
        await reading
        check_flow(events, official)
        result = await run.result()
    assert (result.status, result.text) == ("completed", "A whole answer.")
    assert [error["code"] for error in customs(events, ERROR)] == [code]
    assert kept_text(events) == "A whole answer."
    shown = "".join(str(event.delta) for event in events if isinstance(event, TextMessageChunk))
    assert bool(customs(events, REWIND)) == (shown != "A whole answer.")


@pytest.mark.parametrize(("fault", "code"), PASSING[:3], ids=lambda value: str(value)[:40])
async def test_a_lasting_failure_ends_the_run_after_its_own_number_of_tries(
    fault: Fault, code: str, official: OfficialVerifier
) -> None:
    """R9: RUN_ERROR with the code, after 1 + limit calls."""
    config = AgentRunConfig(backoff_s=0.0, retries={code: 2})
    async with ModelServer() as server, agent_on(server, "openai-chat", config) as agent:
        server.answer(lambda _: Reply("x", fault=fault))
        events = await play(agent.arun_stream("Hi"), official)
        assert len(server.calls) == 3
    assert isinstance(events[-1], RunError)
    assert events[-1].code == code


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("invalid_api_key", "invalid_api_key"),
        ("permission_denied", "permission_denied"),
        ("model_not_found", "model_not_found"),
        ("bad_request", "bad_request"),
        ("context_too_long", "context_too_long"),
        ("quota_exceeded", "quota_exceeded"),
    ],
)
async def test_a_failure_for_good_ends_the_run_at_once(
    wire: str, kind: str, code: str, official: OfficialVerifier
) -> None:
    """R9: no second call for what a second call cannot mend."""
    async with ModelServer() as server, agent_on(server, wire) as agent:
        server.answer(lambda _: Reply("x", fault=VendorError(kind)))  # pyright: ignore[reportArgumentType]
        events = await play(agent.arun_stream("Hi"), official)
        assert len(server.calls) == 1
    assert isinstance(events[-1], RunError)
    assert events[-1].code == code
    assert "test-key" not in events[-1].message


async def test_nobody_listening_is_connection_failed(official: OfficialVerifier) -> None:
    """R9: connection refused has its own code and limit."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        config = AgentRunConfig(backoff_s=0.0, retries={"connection_failed": 1})
        async with Agent("r", model="openai-chat:m", base_url=url, config=config) as agent:
            events = await play(agent.arun_stream("Hi"), official)
    assert isinstance(events[-1], RunError)
    assert events[-1].code == "connection_failed"
    assert len(customs(events, ERROR)) == 1


async def test_a_turn_that_never_ends_is_ended(official: OfficialVerifier) -> None:
    """C6: turn_timeout, not tried again."""
    config = AgentRunConfig(turn_timeout_s=0.3)
    async with ModelServer() as server, agent_on(server, "openai", config) as agent:
        server.script(Reply("Slow answer", chunk_chars=2, fault=Stall(after_events=6)))
        events = await play(agent.arun_stream("Hi"), official)
    assert isinstance(events[-1], RunError)
    assert events[-1].code == "turn_timeout"


async def test_a_half_streamed_call_is_taken_back_before_the_next_try(official: OfficialVerifier) -> None:
    """C6: the rewind names the event before the broken turn, and the call is closed before it."""
    agent, _ = scripted(
        ScriptedTurn("Half", fails=ModelError("stream_broken", "cut", retryable=True)),
        ScriptedTurn("Whole"),
        config=AgentRunConfig(backoff_s=0.0),
    )
    async with agent:
        events = await play(agent.arun_stream("Hi"), official)
    (rewind,) = customs(events, REWIND)
    assert rewind["to_seq"] == 2
    assert kept_text(events) == "Whole"


def test_retry_after_is_honoured_and_bounded() -> None:
    """C6: the server's word counts, unless it asks for longer than anyone would wait."""
    config = Config(max_retry_after_s=60)
    failures = Counter({"rate_limited": 1})
    patient = ModelError("rate_limited", "", retryable=True, retry_after_s=7.5)
    assert retry_delay(config, patient, failures) == 7.5
    endless = ModelError("rate_limited", "", retryable=True, retry_after_s=3600)
    assert retry_delay(config, endless, failures) is None


def test_back_off_grows_and_is_bounded() -> None:
    """C6: half a second, one, two ... with jitter, up to max_backoff_s; a code's own limit ends it."""
    config = Config(backoff_s=1.0, max_backoff_s=4.0, retries={"x": 5})
    error = ModelError("x", "", retryable=True)
    ceilings = [1.0, 2.0, 4.0, 4.0, 4.0]
    for tries, ceiling in enumerate(ceilings, start=1):
        delay = retry_delay(config, error, Counter({"x": tries}))
        assert delay is not None
        assert ceiling / 2 <= delay <= ceiling
    assert retry_delay(config, error, Counter({"x": 6})) is None
    assert retry_delay(config, ModelError("x", ""), Counter({"x": 1})) is None


class Breathing(ScriptedDriver):
    """A model that lets others do something after each word."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        async with aclosing(super().stream(request)) as batches:
            async for batch in batches:
                yield batch
                await asyncio.sleep(0)


async def test_a_slow_reader_is_not_taken_for_a_silent_model() -> None:
    """L14: the time a reader takes does not count against the model's."""
    from agio.core.engine import journal

    driver = Breathing([ScriptedTurn("word " * (5 * journal.WINDOW_EVENTS))])  # whatever one commit holds
    async with Agent("tester", model=driver, config=IDLE) as agent:
        run = agent.arun_stream("Hi")
        await anext(run)
        stream: object = vars(run)["_stream"]
        written: journal.Journal = vars(stream)["_journal"]

        def waits_for_reader() -> bool:
            room: asyncio.Future[None] | None = vars(written)["_room"]
            return room is not None and not room.done()

        await until(waits_for_reader)
        paused = asyncio.Event()
        asyncio.get_running_loop().call_later(1500, paused.set)
        pass_time(1500)
        await paused.wait()
        assert (await run.result()).status == "completed"
    assert len(driver.requests) == 1


async def test_a_call_without_a_file_descriptor_is_tried_again() -> None:
    """L13: the run waits for one to be free, and is not failed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with ModelServer() as server, agent_on(server, "openai-chat") as warm:
        server.script(Reply("Hi."), Reply("There."))
        await warm.arun("Hello")  # what is imported late is there now
        codes: set[object] = set()
        ended = False
        patient = AgentRunConfig(backoff_s=0.0, retries={"too_many_open_files": 10**6})
        async with agent_on(server, "openai-chat", patient) as agent:
            resource.setrlimit(resource.RLIMIT_NOFILE, (1, hard))
            try:
                async for event in agent.arun_stream("Hello"):
                    ended = isinstance(event, RunFinished)
                    if failed := customs([event], ERROR):
                        codes.add(failed[0]["code"])
                        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert codes == {"too_many_open_files"}
    assert AgentRunConfig().retries["too_many_open_files"] > AgentRunConfig().retries["connection_failed"]
    assert ended
