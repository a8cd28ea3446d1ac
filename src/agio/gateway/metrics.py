"""The gateway's metrics for Prometheus, collected on request."""

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from agio.gateway.counters import Histogram
from agio.gateway.gateway import Gateway


async def render(gateway: Gateway) -> tuple[bytes, str]:
    """Return the metrics as text, and the media type. Raises StoreError."""
    counts = await gateway.store.count_runs()
    jobs = await gateway.store.count_jobs()
    waiting = {name: (await gateway.store.trace_backlog(name))[0] for name in gateway.traces.services}
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Metrics(gateway, counts, jobs, waiting))
    ProcessCollector(registry=registry)
    return generate_latest(registry), CONTENT_TYPE_LATEST


class _Metrics(Collector):
    def __init__(
        self,
        gateway: Gateway,
        counts: Mapping[str, int],
        jobs: Mapping[str, int],
        waiting: Mapping[str, int],
    ) -> None:
        self._gateway = gateway
        self._counts = counts
        self._jobs = jobs
        self._waiting = waiting

    def collect(self) -> Iterable[Metric]:
        """Return the counters as metrics."""
        counters = self._gateway.counters
        yield _by(
            GaugeMetricFamily("agio_runs", "Runs now, by state.", labels=["state"]),
            {"queued": 0, "running": 0} | dict(self._counts),
        )
        yield GaugeMetricFamily(
            "agio_queue_depth", "Runs that wait to be claimed.", value=self._counts.get("queued", 0)
        )
        yield _by(
            GaugeMetricFamily("agio_jobs", "Background jobs now, by state.", labels=["state"]), self._jobs
        )
        yield _by(
            CounterMetricFamily("agio_runs_ended", "Runs that ended, by status.", labels=["status"]),
            counters.runs_ended,
        )
        yield CounterMetricFamily("agio_runs_claimed", "Claims of runs.", value=counters.runs_claimed)
        yield _histogram(
            "agio_first_token_seconds",
            "From a run's claim to the commit of its first text or reasoning.",
            counters.first_token_s,
        )
        yield _histogram(
            "agio_append_seconds",
            "From a worker's append to its acknowledgement, including the commit.",
            counters.append_s,
        )
        yield _histogram("agio_commit_appends", "Appends that shared a commit.", counters.commit_appends)
        yield CounterMetricFamily("agio_appends", "Appends to logs.", value=counters.appends)
        yield CounterMetricFamily(
            "agio_append_events", "Events appended to logs.", value=counters.append_events
        )
        yield _by(
            CounterMetricFamily("agio_tool_calls", "Calls of the gateway's own tools.", labels=["tool"]),
            counters.tool_calls,
        )
        traces = CounterMetricFamily(
            "agio_traces",
            "Runs whose traces were sent or refused, and attempts that failed.",
            labels=["service", "outcome"],
        )
        for (service, outcome), count in counters.traces.items():
            traces.add_metric([service, outcome], count)
        yield traces
        yield _by(
            GaugeMetricFamily("agio_trace_queue", "Runs whose traces wait to be sent.", labels=["service"]),
            self._waiting,
        )
        yield GaugeMetricFamily(
            "agio_open_streams", "Readers of sessions, connected now.", value=self._gateway.hub.open_streams
        )
        yield _by(
            CounterMetricFamily("agio_rate_limited", "Requests refused by a rate limit.", labels=["kind"]),
            self._gateway.rates.refused,
        )
        yield GaugeMetricFamily(
            "agio_gateways", "Gateways that share the store.", value=self._gateway.peers.live
        )
        yield CounterMetricFamily(
            "agio_bus_ignored",
            "Messages on the bus that were forged, cut or unknown.",
            value=self._gateway.peers.bus.ignored,
        )
        yield GaugeMetricFamily(
            "agio_workers", "Workers connected now.", value=len(self._gateway.pool.connected)
        )


def _by(
    family: CounterMetricFamily | GaugeMetricFamily, values: Mapping[str, int]
) -> CounterMetricFamily | GaugeMetricFamily:
    for label, value in values.items():
        family.add_metric([label], value)
    return family


def _histogram(name: str, words: str, counters: Histogram) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, words)
    family.add_metric([], list(_buckets(counters)), counters.total)
    return family


def _buckets(counters: Histogram) -> Iterator[tuple[str, float]]:
    below = 0
    for bound, count in zip((*counters.bounds, float("inf")), counters.counts, strict=True):
        below += count
        yield ("+Inf" if bound == float("inf") else repr(bound)), below
