"""Decodes what was sent as OTLP JSON with OpenTelemetry's own definitions."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any, cast

from google.protobuf.json_format import MessageToDict, ParseDict
from msgspec import Struct
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.collector import Posted

_IDS = ("traceId", "spanId", "parentSpanId")


class OtlpSpan(Struct, frozen=True):
    """A span as a collector reads it."""

    trace_id: str
    id: str
    parent: str
    name: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    status: int
    links: list[str]
    resource: dict[str, Any]


def spans_of(posts: Iterable[Posted]) -> list[OtlpSpan]:
    """Decode the spans of requests. Raises ParseError for a field that OTLP does not have."""
    return [span for post in posts if post.path.endswith("/v1/traces") for span in _spans(post.body)]


def metrics_of(post: Posted) -> dict[str, list[dict[str, Any]]]:
    """Decode the metrics of a request: the data points of each, by name."""
    request = ParseDict(post.body, ExportMetricsServiceRequest())
    return {
        metric.name: [
            {**_attributes(point.attributes), "count": point.count, "sum": point.sum}
            for point in metric.histogram.data_points
        ]
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def _spans(body: object) -> Iterator[OtlpSpan]:
    request = ParseDict(cast("dict[str, Any]", for_protobuf(body)), ExportTraceServiceRequest())
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield OtlpSpan(
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.name,
                    span.kind,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    _attributes(span.attributes),
                    span.status.code,
                    [link.span_id.hex() for link in span.links],
                    _attributes(resource.resource.attributes),
                )


def _attributes(found: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for each in found:
        [value] = MessageToDict(each.value).values()
        values[each.key] = value
    return values


def for_protobuf(value: Any) -> Any:
    """OTLP writes ids in hexadecimal, where JSON of protobuf has base 64."""
    if isinstance(value, list):
        return [for_protobuf(each) for each in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    return {
        name: b64encode(bytes.fromhex(str(each))).decode() if name in _IDS else for_protobuf(each)
        for name, each in cast("dict[str, object]", value).items()
    }
