"""The phases of a pass over a server, and the figures that come of them."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple


class Phase(NamedTuple):
    """One kind of load. Without a pace the model sends as fast as it can; `rounds` 0 goes by the clock."""

    name: str
    tokens: int
    at_once: int
    pace_ms: float = 0
    rounds: int = 0
    throughput: bool = False
    """Whether servers that are measured for throughput only go through it too."""
    spread: bool = False
    """Whether the clients begin one after the other over the length of a run, so that their runs are not in step."""

    @property
    def spread_s(self) -> float:
        return self.tokens * self.pace_ms / 1000 if self.spread else 0.0


class Measured(NamedTuple):
    """What one phase took; CPU and bytes are those of a run.

    Of `alone` and the spread phases the first piece is above the median of the model's own.
    """

    runs: int
    cpu_ms: float
    written_bytes: float
    runs_per_s: float
    first_piece_ms: float
    first_piece_p99_ms: float


Pass = dict[str, Measured]
"""By the name of the phase."""

ALONE = Phase("alone", 20, at_once=1)
PHASES = (
    ALONE,
    Phase("burst_1", 1, at_once=8, throughput=True),
    Phase("burst_200", 200, at_once=8, throughput=True),
    Phase("burst_1000", 1000, at_once=8),
    Phase("paced_20_1", 1, at_once=20, pace_ms=20, rounds=10),
    Phase("paced_20_200", 200, at_once=20, pace_ms=20, rounds=2),
    Phase("paced_100_1", 1, at_once=100, pace_ms=20, rounds=2),
    Phase("paced_100_200", 200, at_once=100, pace_ms=20, rounds=1),
    Phase("crowd_200", 200, at_once=64, throughput=True),
    Phase("loaded_60", 100, at_once=60, pace_ms=20, rounds=4, spread=True),
    Phase("loaded_300", 50, at_once=300, pace_ms=40, rounds=3, spread=True),
)
OPEN_STREAMS = Phase("open", 50, at_once=200, pace_ms=250, rounds=1)


@dataclass(frozen=True)
class Figure:
    """A line of the comparison (`label`), a column of the table of all servers (`short`).

    `target` is what agio aims for. Of a figure `of_disk` only servers that keep runs on disk are peers.
    """

    key: str
    label: str
    short: str
    decimals: int = 1
    target: float | None = None
    more_is_better: bool = False
    of_disk: bool = False


FIGURES = (
    Figure("run_200", "CPU-ms a run, 200 tokens", "ms, 200", 2, target=4.6),
    Figure("run_1", "CPU-ms a run, 1 token: the fixed part", "ms, 1", 2, target=1.5),
    Figure("token_1_200", "CPU-us a token in bursts, 1 to 200", "us, 1-200", target=12),
    Figure("token_200_1000", "CPU-us a token in bursts, 200 to 1000", "us, 200-1000", target=12),
    Figure("token_paced_20", "CPU-us a token 20 ms apart, 20 streams", "us, 20 paced", target=80),
    Figure("token_paced_100", "CPU-us a token 20 ms apart, 100 streams", "us, 100 paced", target=30),
    Figure("runs_per_s", "runs a second, 64 at once, 200 tokens", "runs/s", more_is_better=True),
    Figure("tokens_per_s", "tokens a second, 8 at once, 1000 tokens", "tokens/s", 0, more_is_better=True),
    Figure("stream_kb", "KB of memory an open stream, 200 open", "KB/stream", target=40),
    Figure("memory_mb", "MB of memory after the first runs", "MB", 0),
    Figure("first_piece_ms", "ms to the first text above the model's own, idle", "first ms", target=5),
    Figure("first_60_ms", "the same among 60 streams, 20 ms a token", "first ms, 60", target=30),
    Figure("first_60_p99_ms", "the same, 99 of 100", "p99, 60"),
    Figure("first_300_ms", "the same among 300 streams, 40 ms a token", "first ms, 300", target=60),
    Figure("first_300_p99_ms", "the same, 99 of 100", "p99, 300"),
    Figure("written_20", "bytes written a token, 20 streams", "B/token, 20", 0, target=1024, of_disk=True),
    Figure("written_100", "bytes written a token, 100 streams", "B/token, 100", 0, target=1024, of_disk=True),
    Figure("start_s", "seconds from start to the first request served", "start s", 2, target=1.5),
)


def figures_of_passes(passes: list[Pass]) -> dict[str, float]:
    """Medians over the passes of what the phases gave; nothing of a phase that was not gone through."""

    def slope(short: str, long: str, tokens: int) -> Callable[[Pass], float]:
        return lambda each: (each[long].cpu_ms - each[short].cpu_ms) / tokens * 1000

    ways: dict[str, Callable[[Pass], float]] = {
        "run_1": lambda each: each["burst_1"].cpu_ms,
        "run_200": lambda each: each["burst_200"].cpu_ms,
        "token_1_200": slope("burst_1", "burst_200", 199),
        "token_200_1000": slope("burst_200", "burst_1000", 800),
        "token_paced_20": slope("paced_20_1", "paced_20_200", 199),
        "token_paced_100": slope("paced_100_1", "paced_100_200", 199),
        "runs_per_s": lambda each: each["crowd_200"].runs_per_s,
        "tokens_per_s": lambda each: each["burst_1000"].runs_per_s * 1000,
        "first_piece_ms": lambda each: each["alone"].first_piece_ms,
        "first_60_ms": lambda each: each["loaded_60"].first_piece_ms,
        "first_60_p99_ms": lambda each: each["loaded_60"].first_piece_p99_ms,
        "first_300_ms": lambda each: each["loaded_300"].first_piece_ms,
        "first_300_p99_ms": lambda each: each["loaded_300"].first_piece_p99_ms,
        "written_20": lambda each: each["paced_20_200"].written_bytes / 200,
        "written_100": lambda each: each["paced_100_200"].written_bytes / 200,
    }
    figures: dict[str, float] = {}
    for key, way in ways.items():
        try:
            figures[key] = median(way(each) for each in passes)
        except KeyError:
            continue
    return figures
