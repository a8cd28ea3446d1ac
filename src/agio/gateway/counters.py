"""Counters of the gateway's work: plain numbers, read by gateway/metrics.py."""

from bisect import bisect_left
from collections import Counter

FIRST_TOKEN_BOUNDS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
APPEND_BOUNDS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
COMMIT_BOUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500)


class Histogram:
    """Counts of values by upper bound; the last count is for values above all bounds."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Counters:
    """The counters of one gateway since it started."""

    def __init__(self) -> None:
        self.runs_claimed = 0
        self.runs_ended: Counter[str] = Counter()
        """By status."""
        self.appends = 0
        self.append_events = 0
        self.append_s = Histogram(APPEND_BOUNDS_S)
        """From a worker's append to its acknowledgement, including the commit."""
        self.commit_appends = Histogram(COMMIT_BOUNDS)
        """How many appends shared a commit."""
        self.first_token_s = Histogram(FIRST_TOKEN_BOUNDS_S)
        """From a run's claim to the commit of its first text or reasoning."""
        self.traces: Counter[tuple[str, str]] = Counter()
        """Runs whose traces were sent or refused, and attempts that failed, by service and outcome."""
        self.tool_calls: Counter[str] = Counter()
        """Calls of the gateway's own tools, by tool."""
