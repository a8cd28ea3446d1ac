"""Encodes traces and metrics as OTLP, by the GenAI conventions; on request also by those of OpenInference."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import TypeAlias, assert_never, cast

import msgspec
from msgspec import UNSET

from agio.core.trace_context import parent_of, root_span, trace_of
from agio.protocol.messages import (
    AssistantMessage,
    Json,
    Message,
    ToolMessage,
    UserMessage,
    decoded_object,
    text_of,
)
from agio.telemetry.export.config import OtlpExport
from agio.telemetry.export.metrics import ModelMetrics, Point, model_labels
from agio.telemetry.export.openai import chat_messages, system_message
from agio.telemetry.export.protobuf import encode_protobuf
from agio.telemetry.export.trace import (
    AgentWork,
    GuardrailWork,
    HandoffWork,
    ModelWork,
    Span,
    TaskWork,
    ToolWork,
    Trace,
    TurnWork,
)

Attributes: TypeAlias = dict[str, str | int | float | bool | Sequence[str]]

_encode = msgspec.json.Encoder().encode
_SCOPE: dict[str, Json] = {"name": "agio", "version": version("agio")}
_INTERNAL, _CLIENT = 1, 3
_ERROR = 2
_CUMULATIVE = 2
_FINISH = {"end": "stop", "tool_calls": "tool_call", "length": "length", "content_filter": "content_filter"}


def encode_otlp(batch: Sequence[tuple[Trace, bool]], settings: OtlpExport) -> bytes:
    """Encode traces, each with or without content, as an ExportTraceServiceRequest."""
    spans: list[Json] = []
    for trace, content in batch:
        spans += [_span(trace, span, settings, content=content) for span in _kept(trace)]
    scopes: Json = [{"scope": _SCOPE, "spans": spans}]
    return _written("traces", {"resourceSpans": [{**_resource(settings), "scopeSpans": scopes}]}, settings)


def encode_metrics(metrics: ModelMetrics, settings: OtlpExport) -> bytes:
    """Encode metrics as an ExportMetricsServiceRequest."""
    import time

    began, now = str(metrics.began_ns), str(time.time_ns())
    encoded: list[Json] = []
    for name, unit, points in metrics:
        data = [_data_point(dict(labels), point, began, now) for labels, point in points.items()]
        if data:
            histogram: Json = {"dataPoints": data, "aggregationTemporality": _CUMULATIVE}
            encoded.append({"name": name, "unit": unit, "histogram": histogram})
    scopes: Json = [{"scope": _SCOPE, "metrics": encoded}]
    return _written(
        "metrics", {"resourceMetrics": [{**_resource(settings), "scopeMetrics": scopes}]}, settings
    )


def _written(kind: str, message: dict[str, Json], settings: OtlpExport) -> bytes:
    return encode_protobuf(kind, message) if settings.protobuf else _encode(message)


def _resource(settings: OtlpExport) -> dict[str, Json]:
    return {"resource": {"attributes": _attributes(dict(settings.resource))}}


def _data_point(labels: Mapping[str, str], point: Point, began: str, now: str) -> Json:
    return {
        "attributes": _attributes(dict(labels)),
        "startTimeUnixNano": began,
        "timeUnixNano": now,
        "count": str(sum(point.counts)),
        "sum": point.total,
        "min": point.least,
        "max": point.most,
        "bucketCounts": [str(count) for count in point.counts],
        "explicitBounds": list(point.bounds),
    }


def _kept(trace: Trace) -> list[Span]:
    """Leave out turns, which the conventions do not know: what is in one belongs to its agent."""
    outer = {span.id: span.parent for span in trace.spans if isinstance(span.work, TurnWork)}
    return [
        msgspec.structs.replace(span, parent=outer.get(span.parent, span.parent))
        for span in trace.spans
        if span.id not in outer
    ]


def _span(trace: Trace, span: Span, settings: OtlpExport, *, content: bool) -> dict[str, Json]:
    name, attributes = _described(trace, span, content=content)
    if settings.openinference:
        attributes |= _openinference(trace, span, content=content)
    is_root = not span.parent
    parent = span.parent[:16]
    if is_root and (around := parent_of(trace.traceparent)) != span.id[:16]:
        parent = around
    encoded: dict[str, Json] = {
        "traceId": trace_of(trace.traceparent),
        "spanId": span.id[:16],
        "name": name,
        "kind": _CLIENT if isinstance(span.work, ModelWork) else _INTERNAL,
        "startTimeUnixNano": f"{span.start_ms}000000",
        "endTimeUnixNano": f"{span.end_ms}000000",
    }
    if parent:
        encoded["parentSpanId"] = parent
    if span.error is not None:
        attributes["error.type"] = span.error.code
        encoded["status"] = {"code": _ERROR, "message": span.error.message if content else span.error.code}
    if is_root and trace.answers:
        encoded["links"] = [{"traceId": trace_of(trace.traceparent), "spanId": root_span(trace.answers)[:16]}]
    encoded["attributes"] = _attributes(attributes)
    return encoded


def _described(trace: Trace, span: Span, *, content: bool) -> tuple[str, Attributes]:
    """Return a span's name and attributes by the GenAI conventions."""
    common: Attributes = {"gen_ai.conversation.id": trace.session_id, "agio.run.id": trace.run_id}
    match span.work:
        case TaskWork(name=name):
            common |= {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": name}
            if not span.parent:
                common |= {
                    "user.id": trace.user,
                    "agio.tenant.id": trace.tenant,
                    "agio.run.status": trace.status,
                }
            return f"invoke_workflow {name}", common
        case AgentWork(name=name, agent_id=agent_id, model=model):
            common |= {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
            if agent_id:
                common |= {"gen_ai.agent.id": agent_id, "gen_ai.request.model": model.partition(":")[2]}
            return f"invoke_agent {name}", common
        case ModelWork() as work:
            common |= dict(model_labels(work))
            return f"chat {work.model.partition(':')[2]}", common | _model(work, content=content)
        case ToolWork(name=name, call_id=call_id, arguments=arguments, output=output, server=server):
            common |= {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": name,
                "gen_ai.tool.call.id": call_id,
                "gen_ai.tool.type": "extension" if server else "function",
            }
            if content:
                common["gen_ai.tool.call.arguments"] = arguments
                if output is not None:
                    common["gen_ai.tool.call.result"] = output
            return f"execute_tool {name}", common
        case HandoffWork(giver=giver, taker=taker):
            return f"handoff {taker}", common | {"agio.handoff.from": giver, "agio.handoff.to": taker}
        case GuardrailWork(name=name, triggered=triggered):
            return f"guardrail {name}", common | {
                "agio.guardrail.name": name,
                "agio.guardrail.triggered": triggered,
            }
        case TurnWork(turn=turn):
            return f"turn {turn}", common
        case _:
            assert_never(span.work)


def _model(work: ModelWork, *, content: bool) -> Attributes:
    usage = work.usage
    found: Attributes = {}
    if usage.total:
        found |= {"gen_ai.usage.input_tokens": usage.input, "gen_ai.usage.output_tokens": usage.output}
        details = {
            "gen_ai.usage.cache_read.input_tokens": usage.cached,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
        }
        found |= {name: value for name, value in details.items() if value}
    if work.stop is not None:
        found["gen_ai.response.finish_reasons"] = [_FINISH.get(work.stop, work.stop)]
    if work.first_token_ms is not None:
        found["gen_ai.response.time_to_first_chunk"] = work.first_token_ms / 1000
    if work.temperature is not None:
        found["gen_ai.request.temperature"] = work.temperature
    if work.digest:
        found["agio.request.digest"] = work.digest
    if content and work.stop is not None:
        if work.instructions:
            system: Json = [{"type": "text", "content": work.instructions}]
            found["gen_ai.system_instructions"] = _encode(system).decode()
        found["gen_ai.input.messages"] = _encode(_parts(work.input)).decode()
        answered = [
            {**said, "finish_reason": _FINISH.get(work.stop, work.stop)} for said in _parts(work.output)
        ]
        found["gen_ai.output.messages"] = _encode(answered).decode()
    return found


def _parts(messages: Iterable[Message]) -> list[dict[str, Json]]:
    """Return messages in the form of the conventions."""
    shown: list[dict[str, Json]] = []
    for message in messages:
        parts: list[Json] = []
        match message:
            case UserMessage(content=given):
                parts.append({"type": "text", "content": text_of(given)})
            case AssistantMessage(content=text, tool_calls=calls):
                if text is not UNSET and text:
                    parts.append({"type": "text", "content": text})
                for call in [] if calls is UNSET else calls:
                    arguments = decoded_object(call.function.arguments)
                    parts.append(
                        {
                            "type": "tool_call",
                            "id": call.id,
                            "name": call.function.name,
                            "arguments": arguments,
                        }
                    )
            case ToolMessage(content=given, tool_call_id=call_id):
                parts.append({"type": "tool_call_response", "id": call_id, "response": text_of(given)})
            case _:
                continue
        shown.append({"role": message.role, "parts": parts})
    return shown


def _openinference(trace: Trace, span: Span, *, content: bool) -> Attributes:
    """Return the attributes by which OpenInference knows a span."""
    common: Attributes = {"session.id": trace.session_id, "user.id": trace.user}
    match span.work:
        case AgentWork(name=name):
            return common | {"openinference.span.kind": "AGENT", "agent.name": name}
        case ModelWork() as work:
            provider, _, model = work.model.partition(":")
            common |= {"openinference.span.kind": "LLM", "llm.model_name": model, "llm.provider": provider}
            if work.usage.total:
                common |= {
                    "llm.token_count.prompt": work.usage.input,
                    "llm.token_count.completion": work.usage.output,
                    "llm.token_count.total": work.usage.total,
                }
            if content:
                asked = [*system_message(work.instructions), *chat_messages(work.input)]
                common |= _listed("llm.input_messages", asked)
                common |= _listed("llm.output_messages", chat_messages(work.output))
            return common
        case ToolWork(name=name, arguments=arguments, output=output):
            common |= {"openinference.span.kind": "TOOL", "tool.name": name}
            if content:
                common |= {"input.value": arguments, "output.value": output or ""}
            return common
        case GuardrailWork():
            return common | {"openinference.span.kind": "GUARDRAIL"}
        case TaskWork() | TurnWork() | HandoffWork():
            return common | {"openinference.span.kind": "CHAIN"}
        case _:
            assert_never(span.work)


def _listed(prefix: str, messages: Sequence[dict[str, Json]]) -> Attributes:
    found: Attributes = {}
    for idx, message in enumerate(messages):
        place = f"{prefix}.{idx}.message"
        found[f"{place}.role"] = str(message["role"])
        if isinstance(text := message.get("content"), str):
            found[f"{place}.content"] = text
        for at, call in enumerate(cast("list[dict[str, dict[str, str]]]", message.get("tool_calls", []))):
            function = f"{place}.tool_calls.{at}.tool_call.function"
            found |= {f"{function}.{name}": value for name, value in call["function"].items()}
    return found


def _attributes(values: Mapping[str, str | float | bool | Sequence[str]]) -> list[Json]:
    return [{"key": name, "value": _value(value)} for name, value in values.items()]


def _value(value: str | float | bool | Sequence[str]) -> Json:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case _:
            return {"arrayValue": {"values": [{"stringValue": each} for each in value]}}
