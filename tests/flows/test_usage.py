"""What a run used, counted once: while it goes on, from its log, and by the process that goes on with it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Literal, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from agio import AgentRunConfig, ModelError, tool
from agio.core.engine.runner import AgentRunner, RunStream
from agio.core.model import (
    ModelEvent,
    ModelRequest,
    PartialUsage,
    TextDelta,
    ToolCallBegin,
    ToolCallDelta,
    ToolCallDone,
    TurnEnd,
    Usage,
    VendorTurn,
)
from agio.core.run.fold import Fold, fold_log
from agio.core.run.metrics import charge_of
from agio.core.run.spec import AgentSpec, RunRequest
from agio.core.store.repository import Append, Charge, NewRun, RunLog
from agio.db.repository import Repository, open_store
from agio.execution.tool_executor import ToolExecutor
from agio.protocol.codec import encode
from agio.protocol.frames import Frame
from agio.protocol.messages import UserMessage

How: TypeAlias = Literal["breaks", "fails", "cancelled", "calls", "ends"]
LOST: tuple[How, ...] = ("breaks", "fails", "cancelled")
SPEC = AgentSpec(
    "t", "", "vendor", "a:b", config=AgentRunConfig(retries={"stream_broken": 99}, backoff_s=0.0)
)


class Try(Struct, frozen=True):
    """One call of the model: what it tells early, whether it speaks, how it ends and what it used by then."""

    told: Usage | None
    speaks: bool
    how: How
    usage: Usage

    @property
    def known(self) -> Usage:
        """What anybody can know of its usage."""
        return (self.told or Usage()) if self.how in LOST else self.usage


class Model:
    """Plays tries in order, and then answers."""

    wire = "scripted"

    def __init__(self, tries: Sequence[Try]) -> None:
        self._tries = list(tries)
        self.known = Usage()
        self.cancel: Callable[[], None] = asyncio.Event().set

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent]]:
        """Play the next try."""
        now = self._tries.pop(0) if self._tries else Try(None, True, "ends", Usage(3, 2))
        self.known += now.known
        if now.told is not None:
            yield [PartialUsage(now.told)]
        if now.speaks:
            yield [TextDelta("Hello")]
        match now.how:
            case "breaks":
                raise ModelError("stream_broken", "gone", retryable=True)
            case "fails":
                raise ModelError("bad_request", "no")
            case "cancelled":
                self.cancel()
                await asyncio.Event().wait()
            case "calls":
                yield [ToolCallBegin(0, "ping"), ToolCallDelta(0, "{}"), ToolCallDone(0)]
                yield [TurnEnd("tool_calls", now.usage, VendorTurn(self.wire, []))]
            case "ends":
                yield [TurnEnd("end", now.usage, VendorTurn(self.wire, []))]

    async def aclose(self) -> None:
        """Nothing to close."""


@tool(effect="idempotent")
def ping() -> str:
    """Answer."""
    return "pong"


USAGE = st.builds(Usage, st.integers(1, 99), *[st.integers(0, 9)] * 4)
TRIES = st.lists(
    st.builds(
        Try,
        st.none() | USAGE,
        st.booleans(),
        st.sampled_from(["breaks", "breaks", "calls", "calls", "fails", "cancelled", "ends"]),
        USAGE,
    ),
    max_size=6,
)


def runner(store: Repository, model: Model) -> AgentRunner:
    return AgentRunner(SPEC, model, ToolExecutor([ping], SPEC.config, store), store)


async def counted(store: Repository, model: Model, stream: RunStream, before: Usage) -> RunLog:
    """Take a run to its end, and see that everybody counts alike."""
    model.cancel = stream.cancel
    result = await stream.result()
    log = await store.get_log("run_x")
    fold = fold_log(Fold(), log)
    assert result.usage == fold.total_usage == before + model.known
    assert list(fold.usage) == ([SPEC.model_id] if result.usage.total else [])
    info = log.info
    assert ((info.input_tokens or 0), (info.output_tokens or 0)) == (result.usage.input, result.usage.output)
    return log


async def cut(log: RunLog, stop: int) -> Repository:
    """Make a store in which the run stopped after so many events."""
    store = await open_store(":memory:")
    await store.create_run(NewRun("run_x", "thr_1", "t", SPEC.model_id, "m" * 16, title="Hi"))
    events = list(log.events())[:stop]
    payload = b"".join(encode(event) + b"\n" for event in events)
    turns = [turn for turn in log.turns if turn.seq <= stop]
    fold = fold_log(Fold(), RunLog(log.info, payload, turns))
    charge = charge_of(fold.uncharged, {}, Charge(partial=fold.usage_unknown))
    await store.append(Append(Frame("run_x", 1, 1, len(events), payload), turns, charge=charge))
    await store.claim_run("run_x")
    return store


async def scenario(first: Sequence[Try], second: Sequence[Try], at: float) -> None:
    store, model = await open_store(":memory:"), Model(first)
    asked = RunRequest(
        session_id="thr_1", run_id="run_x", messages=[UserMessage(id="u1", content="Hi")], mark="m" * 16
    )
    log = await counted(store, model, runner(store, model).run_stream(asked), Usage())
    await store.close()
    stop = 1 + int(at * (log.info.last_seq - 1))
    store, model = await cut(log, stop), Model(second)
    left = await store.get_log("run_x")
    stream = runner(store, model).resume(left)
    await counted(store, model, stream, fold_log(Fold(), left).total_usage)
    await store.close()


@settings(max_examples=60, deadline=None)
@given(first=TRIES, second=TRIES, at=st.floats(0, 1, exclude_max=True))
def test_the_log_tells_of_every_token_once(first: list[Try], second: list[Try], at: float) -> None:
    """L12: whatever breaks off, is tried again, fails, is cancelled or stops with its process and is resumed."""
    asyncio.run(scenario(first, second, at))
