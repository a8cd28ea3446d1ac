"""Encodes traces for OpenAI's dashboard, in the ingest format of the Agents SDK and within its limits."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import assert_never

import msgspec
from msgspec import UNSET

from agio.core.model import Usage
from agio.core.trace_context import openai_trace_id
from agio.protocol.messages import (
    AssistantMessage,
    Json,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
    text_of,
)
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
    Work,
)

SERVICE = "https://api.openai.com/"
ENDPOINT = f"{SERVICE}v1/traces/ingest"
HEADERS = [("Content-Type", "application/json"), ("OpenAI-Beta", "traces=v1")]
FIELD_BYTES = 100_000
"""The largest input or output that the service takes."""
ITEMS = 128
"""How many traces and spans a request has, as the SDK's."""
_CUT = "... [truncated]"

_encode = msgspec.json.Encoder().encode


def dashboard_url(trace_id: str) -> str:
    """Return the address of a trace in the dashboard."""
    return f"https://platform.openai.com/traces/trace?trace_id={trace_id}"


def encode_openai(traces: Sequence[tuple[Trace, bool]]) -> list[bytes]:
    """Encode traces, each with or without content, as the bodies of requests."""
    items = [item for trace, content in traces for item in _items(trace, content=content)]
    return [_encode({"data": items[at : at + ITEMS]}) for at in range(0, len(items), ITEMS)]


def _items(trace: Trace, *, content: bool) -> list[dict[str, Json]]:
    trace_id = openai_trace_id(trace.traceparent, trace.session_id)
    head: dict[str, Json] = {
        "object": "trace",
        "id": trace_id,
        "workflow_name": trace.agent,
        "group_id": trace.session_id,
        "metadata": {"source": "agio"},
    }
    return [head, *(_span(trace_id, trace, span, content=content) for span in trace.spans)]


def _span(trace_id: str, trace: Trace, span: Span, *, content: bool) -> dict[str, Json]:
    error: Json = None
    if span.error is not None:
        said = {"error": span.error.message} if content else {}
        error = {
            "message": _PROBLEMS.get(type(span.work), "Error"),
            "data": {"code": span.error.code, **said},
        }
    return {
        "object": "trace.span",
        "id": f"span_{span.id}",
        "trace_id": trace_id,
        "parent_id": f"span_{span.parent}" if span.parent else None,
        "started_at": _moment(span.start_ms),
        "ended_at": _moment(span.end_ms),
        "span_data": _data(trace, span.work, content=content),
        "error": error,
    }


_PROBLEMS: dict[type[Work], str] = {
    TaskWork: "Error in agent run",
    AgentWork: "Error in agent run",
    ModelWork: "Error getting response",
    ToolWork: "Error running tool",
}


def _data(trace: Trace, work: Work, *, content: bool) -> dict[str, Json]:
    match work:
        case TaskWork(name=name, usage=usage, calls=calls):
            total: dict[str, Json] = {**_sums(usage), "requests": calls, "total_tokens": usage.total}
            return _custom("task", {"name": name, "run_id": trace.run_id, "usage": total})
        case TurnWork(turn=turn, agent=agent, usage=usage):
            return _custom("turn", {"turn": turn, "agent_name": agent, "usage": _sums(usage)})
        case AgentWork(name=name, tools=tools, handoffs=handoffs, output_type=output_type):
            return {
                "type": "agent",
                "name": name,
                "handoffs": list(handoffs),
                "tools": list(tools),
                "output_type": output_type,
            }
        case ModelWork():
            return _generation(work, content=content)
        case ToolWork(name=name, arguments=arguments, output=output, server=server):
            return {
                "type": "function",
                "name": name,
                "input": _cut(arguments) if content else None,
                "output": _cut(output) if content and output is not None else None,
                "mcp_data": {"server": server} if server else None,
            }
        case HandoffWork(giver=giver, taker=taker):
            return {"type": "handoff", "from_agent": giver, "to_agent": taker}
        case GuardrailWork(name=name, triggered=triggered):
            return {"type": "guardrail", "name": name, "triggered": triggered}
        case _:
            assert_never(work)


def _custom(name: str, data: dict[str, Json]) -> dict[str, Json]:
    return {"type": "custom", "name": name, "data": {"sdk_span_type": name, **data}}


def _generation(work: ModelWork, *, content: bool) -> dict[str, Json]:
    provider, _, model = work.model.partition(":")
    config: dict[str, Json] = {"provider": provider, "temperature": work.temperature}
    if work.digest:
        config["request_digest"] = work.digest
    asked: Json = None
    answered: Json = None
    if content and work.stop is not None:
        asked = _fitting(system_message(work.instructions), chat_messages(work.input))
        answered = _fitting([], chat_messages(work.output))
    usage = work.usage
    return {
        "type": "generation",
        "input": asked,
        "output": answered,
        "model": model,
        "model_config": config,
        "usage": {
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "details": {
                "requests": 1,
                "total_tokens": usage.total,
                "input_tokens_details": {
                    "cached_tokens": usage.cached,
                    "cache_write_tokens": usage.cache_write,
                },
                "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            },
        }
        if usage.total
        else None,
    }


def chat_messages(messages: Iterable[Message]) -> list[dict[str, Json]]:
    """Return messages in the form of Chat Completions, without reasoning and notes."""
    shown: list[dict[str, Json]] = []
    for message in messages:
        match message:
            case UserMessage(content=content):
                shown.append({"role": "user", "content": text_of(content)})
            case AssistantMessage(content=text, tool_calls=calls):
                said: dict[str, Json] = {"role": "assistant", "content": None if text is UNSET else text}
                if calls is not UNSET:
                    said["tool_calls"] = [_call(call) for call in calls]
                shown.append(said)
            case ToolMessage(content=content, tool_call_id=call_id):
                shown.append({"role": "tool", "tool_call_id": call_id, "content": text_of(content)})
            case _:
                pass
    return shown


def system_message(text: str) -> list[dict[str, Json]]:
    """Return an agent's instructions as a message; none for an agent without."""
    return [{"role": "system", "content": _cut(text)}] if text else []


def _call(call: ToolCall) -> dict[str, Json]:
    function = {"name": call.function.name, "arguments": call.function.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _fitting(first: list[dict[str, Json]], messages: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """Leave out the oldest messages, and cut the newest, until a field is small enough."""
    left = FIELD_BYTES - len(_encode(first)) - len(_CUT) - 100
    kept: list[dict[str, Json]] = []
    for message in reversed(messages):
        size = len(_encode(message)) + 1
        if size > left:
            text = message.get("content")
            short = _cut(text, left // 2) if isinstance(text, str) and not kept else _CUT
            kept.append({"role": message["role"], "content": short})
            break
        kept.append(message)
        left -= size
    return [*first, *reversed(kept)]


def _cut(text: str, limit: int = FIELD_BYTES) -> str:
    """Shorten a text whose JSON would be too large. A character has at most six bytes there."""
    if len(text) * 6 <= limit or len(_encode(text)) <= limit:
        return text
    return text[: limit // 6] + _CUT


def _sums(usage: Usage) -> dict[str, Json]:
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cached_input_tokens": usage.cached,
        "cache_write_input_tokens": usage.cache_write,
    }


@lru_cache(1024)
def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
