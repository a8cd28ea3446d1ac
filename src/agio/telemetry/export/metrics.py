"""Metrics of model calls by the GenAI conventions: how long they took, and how many tokens they used.

They are sums since the process started, as OpenTelemetry's own SDK sends them: a request that is lost loses nothing.
"""

import time
from bisect import bisect_left
from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct, field

from agio.telemetry.export.trace import ModelWork, Trace

Labels: TypeAlias = tuple[tuple[str, str], ...]

DURATION = "gen_ai.client.operation.duration"
TOKENS = "gen_ai.client.token.usage"
_DURATION_BOUNDS = tuple(0.01 * 2**power for power in range(14))
_TOKEN_BOUNDS = tuple(float(4**power) for power in range(14))


class Point(Struct):
    """A histogram of values with the same labels."""

    bounds: tuple[float, ...]
    counts: list[int]
    total: float = 0.0
    least: float = float("inf")
    most: float = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value
        self.least, self.most = min(self.least, value), max(self.most, value)


class ModelMetrics(Struct):
    """The metrics of all model calls so far."""

    began_ns: int = field(default_factory=time.time_ns)
    points: dict[str, dict[Labels, Point]] = field(default_factory=lambda: {DURATION: {}, TOKENS: {}})

    def observe(self, trace: Trace) -> None:
        """Count the model calls of a run."""
        for span in trace.spans:
            if not isinstance(span.work, ModelWork):
                continue
            labels = model_labels(span.work)
            took_s = (span.end_ms - span.start_ms) / 1000
            failed = (("error.type", span.error.code),) if span.error is not None else ()
            self._point(DURATION, _DURATION_BOUNDS, (*labels, *failed)).observe(took_s)
            for kind, tokens in (("input", span.work.usage.input), ("output", span.work.usage.output)):
                if tokens:
                    self._point(TOKENS, _TOKEN_BOUNDS, (*labels, ("gen_ai.token.type", kind))).observe(tokens)

    def __iter__(self) -> Iterator[tuple[str, str, dict[Labels, Point]]]:
        """Yield the name, the unit and the histograms of each metric."""
        yield DURATION, "s", self.points[DURATION]
        yield TOKENS, "{token}", self.points[TOKENS]

    def _point(self, name: str, bounds: tuple[float, ...], labels: Labels) -> Point:
        point = self.points[name].get(labels)
        if point is None:
            point = self.points[name][labels] = Point(bounds, [0] * (len(bounds) + 1))
        return point


def model_labels(work: ModelWork) -> Labels:
    """Return what the conventions call a model call."""
    provider, _, model = work.model.partition(":")
    return (
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", _PROVIDERS.get(work.wire or provider, provider)),
        ("gen_ai.request.model", model),
    )


_PROVIDERS = {"openai": "openai", "openai-chat": "openai", "anthropic": "anthropic", "gemini": "gcp.gemini"}
"""The names of the conventions, by wire format."""
