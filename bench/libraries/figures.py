"""From measurements to figures: medians over the passes, slopes between lengths of answer."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

Pass = dict[str, float]
"""CPU-ms a run in one pass, by phase."""


@dataclass(frozen=True)
class Phase:
    """One kind of measurement. `pace_ms` 0 is a burst: the model sends as fast as it can."""

    name: str
    tokens: int
    pace_ms: float = 0
    at_once: int = 1


PHASES = (
    Phase("burst_1", 1),
    Phase("burst_200", 200),
    Phase("burst_1000", 1000),
    Phase("paced_1", 1, pace_ms=20, at_once=20),
    Phase("paced_200", 200, pace_ms=20, at_once=20),
)


@dataclass(frozen=True)
class Figure:
    """One line of the comparison (`label`), one column of the table of all variants (`short`)."""

    key: str
    label: str
    short: str
    decimals: int


FIGURES = (
    Figure("run_1", "CPU-ms a run, 1 token", "ms, 1", 2),
    Figure("run_200", "CPU-ms a run, 200 tokens", "ms, 200", 2),
    Figure("run_1000", "CPU-ms a run, 1000 tokens", "ms, 1000", 2),
    Figure("token_1_200", "CPU-us a token in bursts, 1 to 200", "us, 1-200", 1),
    Figure("token_200_1000", "CPU-us a token in bursts, 200 to 1000", "us, 200-1000", 1),
    Figure("run_200_paced", "CPU-ms a run, 200 tokens 20 ms apart, 20 at once", "paced ms, 200", 2),
    Figure("token_paced", "CPU-us a token 20 ms apart, 20 at once", "paced us", 1),
    Figure("peak_mb", "peak memory, MB", "peak MB", 0),
    Figure("import_ms", "CPU-ms of the import", "import ms", 0),
    Figure("first_run_ms", "CPU-ms from process start to the end of the first run", "first run ms", 0),
)


def figures_of_passes(passes: list[Pass]) -> dict[str, float]:
    """The figures that are measured again in every pass."""

    def middle(of_pass: Callable[[Pass], float]) -> float:
        return median(of_pass(each) for each in passes)

    def slope(short: str, long: str, tokens: int) -> float:
        return middle(lambda each: (each[long] - each[short]) / tokens * 1000)

    return {
        "run_1": middle(lambda each: each["burst_1"]),
        "run_200": middle(lambda each: each["burst_200"]),
        "run_1000": middle(lambda each: each["burst_1000"]),
        "token_1_200": slope("burst_1", "burst_200", 199),
        "token_200_1000": slope("burst_200", "burst_1000", 800),
        "run_200_paced": middle(lambda each: each["paced_200"]),
        "token_paced": slope("paced_1", "paced_200", 199),
    }
