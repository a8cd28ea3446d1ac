"""OTLP as protobuf is what OpenTelemetry's own definitions make of the same JSON."""

from google.protobuf.json_format import ParseDict
from msgspec import json, structs
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agio.core.model import Usage
from agio.core.trace_context import own_traceparent, root_span, span_id
from agio.protocol.messages import AssistantMessage, UserMessage
from agio.telemetry.export.config import OtlpExport
from agio.telemetry.export.metrics import ModelMetrics
from agio.telemetry.export.otlp import encode_metrics, encode_otlp
from agio.telemetry.export.protobuf import encode_protobuf
from agio.telemetry.export.trace import GuardrailWork, ModelWork, Span, SpanError, TaskWork, Trace
from tests.support.otlp import for_protobuf

ASKED = [UserMessage(id="m1", content="Grüße, \U0001f600")]
CALL = ModelWork(
    "openai:gpt",
    "openai",
    "Be brief.",
    ASKED,
    [AssistantMessage(id="m2", content="Hi")],
    "end",
    Usage(300, 2),
    12,
)
SPANS = [
    Span(span_id("run_x", 1), root_span("run_x"), CALL, 1, 2),
    Span(
        span_id("run_x", 2), root_span("run_x"), GuardrailWork("pii", True), 2, 2, SpanError("blocked", "No.")
    ),
    Span(root_span("run_x"), "", TaskWork("desk"), 0, 1_763_520_000_000),
]
TRACE = Trace(
    run_id="run_x",
    session_id="ses_x",
    tenant="t",
    user="u",
    agent="desk",
    status="completed",
    traceparent=own_traceparent("run_w"),
    answers="run_w",
    spans=SPANS,
)
JSON = OtlpExport(resource={"service.name": "agio"}, openinference=True)
BINARY = structs.replace(JSON, protobuf=True)


def test_traces_are_the_same_in_both_forms() -> None:
    """R10: every kind of value, links, errors, texts beyond ASCII."""
    plain = json.decode(encode_otlp([(TRACE, True)], JSON))
    expected = ParseDict(for_protobuf(plain), ExportTraceServiceRequest())
    assert ExportTraceServiceRequest.FromString(encode_otlp([(TRACE, True)], BINARY)) == expected


def test_metrics_are_the_same_in_both_forms() -> None:
    """R10: histograms with their buckets."""
    metrics = ModelMetrics(began_ns=1)
    metrics.observe(TRACE)
    plain = json.decode(encode_metrics(metrics, JSON))
    expected = ParseDict(plain, ExportMetricsServiceRequest())
    assert ExportMetricsServiceRequest.FromString(encode_protobuf("metrics", plain)) == expected
