"""The benchmark of servers: each a process of its own, measured in turns against one model server."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from model_process import ModelServer
from origin import say
from servers.figures import ALONE, OPEN_STREAMS, PHASES, Measured, Pass, Phase, figures_of_passes
from servers.load import OpenStreams, ServerFailed, check_one_run, put_load
from servers.processes import ServerProcess
from servers.shapes import by_model_itself
from servers.subjects import Server, find_versions

SETTLE_S = 0.3
"""After the last stream has ended a server may still have things to write down."""
OPEN_SETTLE_S = 1
MODEL_RUNS = 100


@dataclass(frozen=True)
class Plan:
    """How much to measure: each phase that goes by the clock for some `seconds`, the others in `rounds` at most."""

    passes: int
    seconds: float
    rounds: int
    starts: int
    warm_up_runs: int
    most_at_once: int
    filled_runs: int


FULL = Plan(
    passes=3, seconds=2.5, rounds=10, starts=3, warm_up_runs=40, most_at_once=200, filled_runs=100_000
)
QUICK = Plan(passes=1, seconds=0.5, rounds=1, starts=1, warm_up_runs=8, most_at_once=20, filled_runs=2_000)


@dataclass
class Candidate:
    """A server being measured, until it fails."""

    server: Server
    process: ServerProcess
    passes: list[Pass] = field(default_factory=list)
    model_alone_ms: list[float] = field(default_factory=list)
    """In each pass, right before the server is asked by a single client."""
    once: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    failure: str | None = None

    def figures(self) -> dict[str, float]:
        """Nothing if it failed: a run that could not be verified has no cost."""
        return {} if self.failure else figures_of_passes(self.passes) | self.once


async def bench(servers: list[Server], plan: Plan, scratch: Path) -> list[Candidate]:
    """Measure in passes over all servers, so that a disturbance of the machine hits none alone."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="servers-", dir=scratch)))
        model = stack.enter_context(closing(ModelServer()))
        candidates: list[Candidate] = []
        for number, server in enumerate(servers):
            process = ServerProcess(server, folder / str(number), model.base_url)
            stack.callback(process.stop)
            candidates.append(Candidate(server, process))
        await for_each(candidates, "prepare", lambda one: prepare(one, model, plan))
        for number in range(1, plan.passes + 1):
            await for_each(candidates, f"pass {number}", lambda one: take_pass(one, model, plan))
    return candidates


async def for_each(
    candidates: list[Candidate], what: str, step: Callable[[Candidate], Awaitable[None]]
) -> None:
    for one in candidates:
        if one.failure:
            continue
        say(f"{what}: {one.server.name}")
        try:
            await step(one)
        except ServerFailed as error:
            one.failure = f"{error} {one.process.last_words()}".strip()
            one.process.stop()
            say(f"  failed: {one.failure}")


async def prepare(one: Candidate, model: ModelServer, plan: Plan) -> None:
    """Start it, look closely at one run, warm it up, and measure what can be measured only once."""
    one.versions = find_versions(one.server)
    starts: list[float] = []
    for _ in range(plan.starts):
        one.process.stop()
        starts.append(await one.process.start())
    one.once["start_s"] = median(starts)
    model.control(ALONE.tokens, 0)
    await check_one_run(one.process.port, one.process.shape, ALONE.tokens)
    for phase in PHASES[:3]:
        await measure(one, model, phase, lambda begun: begun >= plan.warm_up_runs)
    one.once["memory_mb"] = one.process.used().memory_kb / 1024
    if not one.server.throughput_only:
        one.once["stream_kb"] = await measure_open_streams(one, model, plan)


async def measure_open_streams(one: Candidate, model: ModelServer, plan: Plan) -> float:
    """KB a stream when all are open at once, and a moment has passed. Raises ServerFailed."""
    streams = min(OPEN_STREAMS.at_once, plan.most_at_once)
    tokens = OPEN_STREAMS.tokens
    model.control(tokens, OPEN_STREAMS.pace_ms)
    before = one.process.used()
    opened = OpenStreams(streams)
    load = asyncio.create_task(
        put_load(
            one.process.port,
            one.process.shape,
            tokens=tokens,
            at_once=streams,
            enough=lambda begun: begun >= streams,
            streams=opened,
        )
    )
    all_open = asyncio.create_task(opened.all_open.wait())
    await asyncio.wait([load, all_open], return_when=asyncio.FIRST_COMPLETED)
    await asyncio.sleep(OPEN_SETTLE_S)
    full = one.process.used()
    if load.done():
        all_open.cancel()
        await load
        raise ServerFailed(f"the first of {streams} streams had ended before the last was open")
    await load
    return (full.memory_kb - before.memory_kb) / streams


async def take_pass(one: Candidate, model: ModelServer, plan: Plan) -> None:
    figures: Pass = {}
    one.model_alone_ms.append(await ask_model_alone(model))
    for phase in PHASES:
        if phase.throughput or not one.server.throughput_only:
            shortened = phase._replace(at_once=min(phase.at_once, plan.most_at_once))
            own_ms = await ask_model_itself(model, shortened) if phase.spread else 0.0
            measured = await measure(one, model, shortened, until(shortened, plan))
            figures[phase.name] = measured._replace(
                first_piece_ms=measured.first_piece_ms - own_ms,
                first_piece_p99_ms=measured.first_piece_p99_ms - own_ms,
            )
    if alone := figures.get(ALONE.name):
        above_ms = alone.first_piece_ms - one.model_alone_ms[-1]
        figures[ALONE.name] = alone._replace(first_piece_ms=above_ms)
    one.passes.append(figures)


def until(phase: Phase, plan: Plan) -> Callable[[int], bool]:
    """When a phase has had enough: whole rounds of all its clients, or a time."""
    if phase.rounds:
        runs = min(phase.rounds, plan.rounds) * phase.at_once
        return lambda begun: begun >= runs
    deadline = time.perf_counter() + plan.seconds
    return lambda begun: begun >= phase.at_once and time.perf_counter() > deadline


async def measure(
    one: Candidate, model: ModelServer, phase: Phase, enough: Callable[[int], bool]
) -> Measured:
    """One phase. Raises ServerFailed, also if the model server saw other runs."""
    process = one.process
    model.control(phase.tokens, phase.pace_ms)
    before = process.used()
    loaded = await put_load(
        process.port,
        process.shape,
        tokens=phase.tokens,
        at_once=phase.at_once,
        enough=enough,
        spread_s=phase.spread_s,
    )
    await asyncio.sleep(SETTLE_S)
    after = process.used()
    served = model.control(phase.tokens, phase.pace_ms)
    if served != {"tool_turns": loaded.runs, "answers": loaded.runs, "refused": 0}:
        raise ServerFailed(f"the model server served {served} in {loaded.runs} runs of {phase.name}")
    return Measured(
        runs=loaded.runs,
        cpu_ms=(after.cpu_s - before.cpu_s) / loaded.runs * 1000,
        written_bytes=(after.written_bytes - before.written_bytes) / loaded.runs,
        runs_per_s=loaded.runs / loaded.wall_s,
        first_piece_ms=loaded.first_piece_ms,
        first_piece_p99_ms=loaded.first_piece_p99_ms,
    )


async def ask_model_itself(model: ModelServer, phase: Phase) -> float:
    """Milliseconds to the first text when a phase's clients ask the model itself: the median."""
    model.control(phase.tokens, phase.pace_ms)
    loaded = await put_load(
        model.port,
        by_model_itself(),
        tokens=phase.tokens,
        at_once=phase.at_once,
        enough=lambda begun: begun >= phase.at_once,
        spread_s=phase.spread_s,
    )
    return loaded.first_piece_ms


async def ask_model_alone(model: ModelServer) -> float:
    """Milliseconds to the first text when both turns are asked of the model itself."""
    model.control(ALONE.tokens, 0)
    loaded = await put_load(
        model.port,
        by_model_itself(),
        tokens=ALONE.tokens,
        at_once=1,
        enough=lambda begun: begun >= MODEL_RUNS,
    )
    return loaded.first_piece_ms


def result(one: Candidate) -> dict[str, object]:
    """What is kept of a server."""
    return {
        "name": one.server.name,
        "project": one.server.project,
        "keeps": one.server.keeps,
        "failure": one.failure,
        "model_alone_ms": one.model_alone_ms,
        "figures": one.figures(),
        "passes": [{name: measured._asdict() for name, measured in each.items()} for each in one.passes],
    }
