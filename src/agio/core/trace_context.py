"""Ids of traces and spans, and the W3C trace context that calls to other services carry.

Ids derive from the run, the step and the call: every process computes the same ones, and a repeat has the same.
"""

import hashlib
import re
from contextvars import ContextVar

HEADER = "traceparent"
"""The header of a trace context, in requests to us and in ours to models, tools and MCP servers."""
TRACEPARENT: ContextVar[str] = ContextVar("agio_traceparent", default="")
"""The context of the request that came, or of the call that is being made; empty: none is passed on."""

_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


def read_traceparent(given: bytes | str | None) -> str:
    """Return a valid trace context, in the form of version 00; empty for anything else."""
    text = given.decode("latin-1") if isinstance(given, bytes) else given or ""
    found = _FORM.fullmatch(text) if len(text) <= 256 else None
    if found is None or found[1] == "ff" or (found[1] == "00" and found[5]):
        return ""
    if not int(found[2], 16) or not int(found[3], 16):
        return ""
    return f"00-{found[2]}-{found[3]}-{int(found[4], 16) & 1:02x}"


def own_traceparent(run_id: str) -> str:
    """Return the context of a run that continues no other trace: its own root span is the parent."""
    return f"00-{_hash(run_id, size=16)}-{root_span(run_id)[:16]}-01"


def root_span(run_id: str) -> str:
    """Return the id of a run's outermost span."""
    return span_id(run_id, "run")


def span_id(run_id: str, *what: object) -> str:
    """Return the id of a span: 24 hexadecimal digits, of which OTLP has the first 16."""
    return _hash(run_id, *what, size=12)


def model_span(run_id: str, step: int, tries: int) -> str:
    """Return the span of a model call: `tries` are the calls of the step that broke off before it."""
    return span_id(run_id, "model", step, tries)


def call_span(run_id: str, call_id: str) -> str:
    """Return the span of a tool call, in the run that carries it out."""
    return span_id(run_id, "call", call_id)


def under(traceparent: str, span: str) -> str:
    """Return the context for a call that is made in a span; empty without a trace."""
    return f"{traceparent[:36]}{span[:16]}{traceparent[52:]}" if traceparent else ""


def trace_of(traceparent: str) -> str:
    """Return the id of a context's trace."""
    return traceparent[3:35]


def parent_of(traceparent: str) -> str:
    """Return the id of the span that a context names."""
    return traceparent[36:52]


def is_sampled(traceparent: str) -> bool:
    """Whether the caller records its trace."""
    return traceparent.endswith("1")


def openai_trace_id(traceparent: str, session_id: str) -> str:
    """Return the id of a trace in OpenAI's dashboard.

    It is of one session, whose name and group never change: a trace of a caller may have runs of several.
    """
    return f"trace_{_hash(traceparent[:35], session_id, size=16)}"


def _hash(*what: object, size: int) -> str:
    return hashlib.blake2b("\0".join(map(str, what)).encode(), digest_size=size).hexdigest()
