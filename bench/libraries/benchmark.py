"""The benchmark of libraries: variants measured in turns against one model server, each run checked on both sides."""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from libraries.figures import PHASES, Pass, Phase, figures_of_passes
from libraries.processes import Worker, WorkerFailed, import_cpu_ms
from libraries.subjects import Variant
from model_answers import answer_text
from model_process import ModelServer
from origin import say


@dataclass(frozen=True)
class Plan:
    """How long to measure: each figure gets `passes` times `cpu_s` of CPU."""

    passes: int
    cpu_s: float
    warm_up_runs: int
    imports: int


FULL = Plan(passes=3, cpu_s=1.0, warm_up_runs=20, imports=5)
QUICK = Plan(passes=1, cpu_s=0.1, warm_up_runs=2, imports=1)


@dataclass
class Candidate:
    """A variant being measured, until it fails."""

    variant: Variant
    worker: Worker
    passes: list[Pass] = field(default_factory=list)
    once: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    failure: str | None = None

    def figures(self) -> dict[str, float]:
        """Nothing if it failed: a run that could not be verified has no cost."""
        return {} if self.failure else figures_of_passes(self.passes) | self.once


def bench(variants: list[Variant], plan: Plan, scratch: Path) -> list[Candidate]:
    """Measure in passes over all variants, so that a disturbance of the machine hits none alone."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stores-", dir=scratch)))
        server = stack.enter_context(closing(ModelServer()))
        candidates = [
            Candidate(variant, stack.enter_context(closing(Worker(variant, folder / str(number)))))
            for number, variant in enumerate(variants)
        ]
        for_each(candidates, "prepare", lambda one: prepare(one, server, plan, folder))
        for number in range(1, plan.passes + 1):
            for_each(candidates, f"pass {number}", lambda one: take_pass(one, server, plan))
        for_each(candidates, "finish", lambda one: one.worker.finish())
    return candidates


def for_each(candidates: list[Candidate], what: str, step: Callable[[Candidate], None]) -> None:
    for one in candidates:
        if one.failure:
            continue
        say(f"{what}: {one.variant.name}")
        try:
            step(one)
        except WorkerFailed as error:
            one.failure = str(error)
            say(f"  failed: {error}")


def prepare(one: Candidate, server: ModelServer, plan: Plan, folder: Path) -> None:
    """Warm up with the same runs for everyone; what can be measured only once is measured here."""
    one.once["import_ms"] = import_cpu_ms(one.variant.library, folder, plan.imports)
    one.versions = one.worker.start(server.base_url)
    one.once["first_run_ms"] = measure(one.worker, server, PHASES[0], runs=1)["process_cpu_ms"]
    for phase in PHASES:
        one.once["peak_mb"] = measure(one.worker, server, phase, runs=plan.warm_up_runs)["peak_mb"]


def take_pass(one: Candidate, server: ModelServer, plan: Plan) -> None:
    figures: Pass = {}
    for phase in PHASES:
        if phase.at_once == 1:
            measure(one.worker, server, phase, runs=2)
        figures[phase.name] = measure(one.worker, server, phase, cpu_s=plan.cpu_s)["cpu_ms_per_run"]
    one.passes.append(figures)


def measure(
    worker: Worker, server: ModelServer, phase: Phase, *, runs: int = 1, cpu_s: float = 0
) -> dict[str, float]:
    """At least `runs` runs and `cpu_s` of CPU. Raises WorkerFailed, also if the server saw other runs."""
    server.control(phase.tokens, phase.pace_ms)
    measured = worker.measure(
        tokens=phase.tokens,
        answer=answer_text(phase.tokens),
        at_once=phase.at_once,
        runs=runs,
        cpu_s=cpu_s,
    )
    served = server.control(phase.tokens, phase.pace_ms)
    made = measured["runs"]
    if served != {"tool_turns": made, "answers": made, "refused": 0}:
        raise WorkerFailed(f"the model server served {served} in {made} runs")
    return measured


def result(one: Candidate) -> dict[str, object]:
    """What is kept of a variant."""
    variant = one.variant
    return {
        "name": variant.name,
        "library": variant.library.name,
        "wire": variant.wire,
        "store": variant.store,
        "loop": variant.loop,
        "failure": one.failure,
        "figures": one.figures(),
        "passes": one.passes,
    }
