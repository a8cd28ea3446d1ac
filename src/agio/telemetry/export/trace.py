"""A trace as plain data: the spans of one run, as every encoder reads them."""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from agio.core.model import StopReason, Usage
from agio.protocol.messages import Message


class SpanError(Struct, frozen=True):
    """Why a span failed. The message may have content of the run, the code never has."""

    code: str
    message: str


class TaskWork(Struct, frozen=True):
    """A run, or the work of a sub-agent."""

    name: str
    usage: Usage = Usage()
    calls: int = 0
    """How many model calls were answered."""


class AgentWork(Struct, frozen=True):
    """The turns of one agent. Tools and handoffs are those of its definition."""

    name: str
    agent_id: str = ""
    tools: Sequence[str] = ()
    handoffs: Sequence[str] = ()
    output_type: str = "str"
    model: str = ""


class TurnWork(Struct, frozen=True):
    """A step: a model call and the tool calls that it requests. They are counted for each lane."""

    turn: int
    agent: str
    usage: Usage = Usage()


class ModelWork(Struct, frozen=True):
    """A model call. Without `stop` it broke off."""

    model: str
    """The id, `provider:model`."""
    wire: str = ""
    """The wire format that it was called in; empty if it broke off."""
    instructions: str = ""
    """The agent's instructions. The prompt also has untrusted context, which is not stored."""
    input: Sequence[Message] = ()
    output: Sequence[Message] = ()
    stop: StopReason | None = None
    usage: Usage = Usage()
    first_token_ms: int | None = None
    digest: str = ""
    """The digest of the request."""
    temperature: float | None = None


class ToolWork(Struct, frozen=True):
    """A tool call. Without `output` it waits for a person or a client."""

    name: str
    call_id: str
    arguments: str
    output: str | None = None
    server: str = ""
    """The MCP server whose tool it is."""


class HandoffWork(Struct, frozen=True):
    """A handoff."""

    giver: str
    taker: str


class GuardrailWork(Struct, frozen=True):
    """A check of what came in, of an answer, or of a tool's result."""

    name: str
    triggered: bool


Work: TypeAlias = TaskWork | AgentWork | TurnWork | ModelWork | ToolWork | HandoffWork | GuardrailWork


class Span(Struct):
    """A span. Its id has 24 hexadecimal digits; times are milliseconds since 1970."""

    id: str
    parent: str
    """The span around it; empty for the run's outermost."""
    work: Work
    start_ms: int
    end_ms: int
    error: SpanError | None = None


class Trace(Struct, frozen=True, kw_only=True):
    """The trace of a run, its spans in the order of their ends."""

    run_id: str
    session_id: str
    tenant: str
    user: str
    agent: str
    """The name of the session's agent."""
    status: str
    traceparent: str
    """The trace that the run is part of, and the span that it is in; the run's own if it continues no other."""
    answers: str
    """The run whose questions it answers; empty: none."""
    spans: Sequence[Span]
