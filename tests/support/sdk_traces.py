"""What the OpenAI Agents SDK sends for a run, and the shape in which traces are compared."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_trace_processors
from agents.tracing.processors import BackendSpanExporter, BatchTraceProcessor
from openai import AsyncOpenAI

from agio.testing import ModelServer
from tests.support.collector import Item

_OPEN = ("metadata", "run_id")
"""Fields of ours that the SDK leaves to its user."""


class _Exporter(BackendSpanExporter):
    """The SDK's exporter, which drops what OpenAI's service does not take also for another address."""

    def _should_sanitize_for_openai_tracing_api(self) -> bool:
        return True


@function_tool
def clock() -> str:
    """Return the time."""
    return "12:00"


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"{amount} paid"


@function_tool(failure_error_function=lambda _, error: f"failed: {error}")
def boom() -> str:
    """Fail."""
    raise ValueError("no")


@asynccontextmanager
async def sdk_model(model: ModelServer) -> AsyncGenerator[OpenAIChatCompletionsModel]:
    """Let the SDK talk to the model server."""
    async with AsyncOpenAI(base_url=model.base_url("openai-chat"), api_key="test-key") as client:
        yield OpenAIChatCompletionsModel("test", client)


async def run_sdk(endpoint: str, agent: Agent, text: str) -> None:
    """Run an agent of the SDK, approve what it asks, and send its trace."""
    exporter = _Exporter(api_key="sdk", endpoint=endpoint)
    processor = BatchTraceProcessor(exporter)
    set_trace_processors([processor])
    try:
        result = await Runner.run(agent, text)
        if result.interruptions:
            state = result.to_state()
            for asked in result.interruptions:
                state.approve(asked)
            await Runner.run(agent, state)
    finally:
        await asyncio.to_thread(processor.shutdown)
        exporter.close()
        set_trace_processors([])


def shape_of(items: Sequence[Item]) -> list[str]:
    """Return the trees of spans, a line each: kind, what was said, names of fields."""
    spans = [cast("dict[str, Any]", item) for item in items if item["object"] == "trace.span"]
    assert len({span["id"] for span in spans}) == len(spans)
    assert len({span["trace_id"] for span in spans}) == 1

    def lines(parent: str | None, depth: int) -> Iterator[str]:
        for span in sorted(spans, key=lambda span: (span["started_at"], _kind(span["span_data"]))):
            if span["parent_id"] == parent:
                failed = "failed" if span["error"] else "well"
                yield f"{'  ' * depth}{_kind(span['span_data'])} {failed} {_fields(span)}"
                yield from lines(span["id"], depth + 1)

    return list(lines(None, 0))


def _kind(data: dict[str, Any]) -> str:
    if data["type"] == "custom":
        return f"{data['name']} {data['data'].get('turn', '')} {data['data'].get('agent_name', '')}"
    shown = [
        data.get(name) for name in ("name", "handoffs", "tools", "output_type", "from_agent", "to_agent")
    ]
    return " ".join(str(value) for value in (data["type"], *shown, *_said(data)))


def _said(data: dict[str, Any]) -> list[object]:
    """Return what was said, without ids and without the texts of a tool's failure."""
    if data["type"] == "function":
        return [data["input"], data["output"] is None]
    if data["type"] != "generation":
        return []
    usage = data["usage"]
    asked = [(m["role"], m.get("content") if m["role"] != "tool" else "") for m in data["input"]]
    answered = [(m["role"], m.get("content")) for m in data["output"]]
    return [
        data["model"],
        asked,
        answered,
        usage["input_tokens"],
        usage["output_tokens"],
        sorted(usage["details"]),
    ]


def _fields(span: dict[str, Any]) -> tuple[str, ...]:
    data = span["span_data"]
    inner = [f"data.{name}" for name in data["data"] if name not in _OPEN] if data["type"] == "custom" else []
    return tuple(sorted([*span, *data, *inner]))
