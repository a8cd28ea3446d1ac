"""What the flow tests share: an agent with a scripted model, its events, and the check of every stream."""

from collections.abc import Sequence

from agio import Agent, AgentRunConfig, ScriptedDriver, ScriptedTurn, tool
from agio.core.engine.runner import RunResult
from agio.core.store.repository import Append, NewRun, TurnRecord
from agio.core.tool import AnyTool
from agio.db.repository import Repository, open_store
from agio.library import Run
from agio.protocol.codec import encode
from agio.protocol.events import AgentEvent
from agio.protocol.frames import Frame
from tests.support.official import OfficialVerifier, check_flow


@tool(effect="idempotent")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def scripted(
    *turns: ScriptedTurn, tools: Sequence[AnyTool] = (add,), config: AgentRunConfig | None = None
) -> tuple[Agent, ScriptedDriver]:
    """Make an agent whose model says these turns."""
    driver = ScriptedDriver(turns)
    return Agent("tester", "Be brief.", model=driver, tools=tools, config=config), driver


async def play(run: Run, official: OfficialVerifier, known_calls: Sequence[str] = ()) -> list[AgentEvent]:
    """Read a run to its end; its stream must please the grammar and the official client."""
    events = [event async for event in run]
    check_flow(events, official, known_calls=known_calls)
    return events


async def ended(run: Run) -> RunResult:
    """Return how a run that was read to its end ended."""
    return await run.result()


def lines(events: Sequence[AgentEvent]) -> bytes:
    """Return events as the log has them."""
    return b"".join(encode(event) + b"\n" for event in events)


async def stopped(events: list[AgentEvent], turns: list[TurnRecord]) -> Repository:
    """Make a store in which the run stopped after these events and turns, and was claimed again."""
    repository = await open_store(":memory:")
    await repository.create_run(NewRun("run_x", "thr_1", "agent", "scripted:model", "m" * 16, title="Add"))
    payload = b"".join(encode(event) + b"\n" for event in events)
    await repository.append(Append(Frame("run_x", 1, 1, len(events), payload), turns))
    await repository.claim_run("run_x")
    return repository
