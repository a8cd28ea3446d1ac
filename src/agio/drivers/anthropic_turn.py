"""Anthropic Messages: decodes the event stream of one message."""

from typing import cast

import msgspec
from msgspec import Struct

from agio.core.model import (
    ModelEvent,
    PartialUsage,
    ReasoningDelta,
    StopReason,
    TextDelta,
    TurnEnd,
    Usage,
    VendorTurn,
)
from agio.drivers.calls import OpenCall, OpenCalls
from agio.drivers.conversation import object_of
from agio.drivers.faults import Faults
from agio.drivers.kept import Kept
from agio.protocol.messages import Json

WIRE = "anthropic"
_STOPS: dict[str, StopReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "refusal",
}


class _Delta(Struct, gc=False):
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    signature: str | None = None
    citation: Json = None
    stop_reason: str | None = None
    stop_details: dict[str, Json] | None = None


class _OutputDetails(Struct, gc=False):
    thinking_tokens: int | None = None


class _Usage(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: _OutputDetails | None = None


class _Message(Struct, gc=False):
    usage: _Usage | None = None


class _Event(Struct, gc=False):
    type: str
    index: int | None = None
    delta: _Delta | None = None
    content_block: dict[str, Json] | None = None
    message: _Message | None = None
    usage: _Usage | None = None
    error: Json = None


_decode = msgspec.json.Decoder(_Event).decode


class _Block:
    """A content block in progress: its start, and the pieces of its text."""

    def __init__(self, fields: dict[str, Json], call: OpenCall | None) -> None:
        self.fields = fields
        self.call = call
        self.kind = fields.get("type")
        self.pieces: list[str] = []


class AnthropicTurn:
    """Decodes the events of one message."""

    def __init__(self, faults: Faults) -> None:
        self.ended = False
        self.partial_usage = Usage()
        self._faults = faults
        self._kept = Kept()
        self._calls = OpenCalls(self._kept)
        self._blocks: dict[int, _Block] = {}
        self._counts: dict[str, int] = {}
        self._stop = ""
        self._details: dict[str, Json] = {}

    def read(self, items: list[bytes]) -> list[ModelEvent]:
        """Decode the data of events into model events."""
        out: list[ModelEvent] = []
        for data in items:
            event = _decode(data)
            kind = event.type
            if kind == "content_block_delta":
                block = self._blocks.get(event.index or 0)
                if block is not None and event.delta is not None:
                    text = event.delta.text
                    if text:
                        block.pieces.append(text)
                        out.append(TextDelta(text))
                    else:
                        self._rest(block, event.delta, out)
            elif kind == "content_block_start":
                self._start(event.index or 0, event.content_block or {}, out)
            elif kind == "content_block_stop":
                block = self._blocks.get(event.index or 0)
                if block is not None and block.call is not None:
                    self._calls.finish(block.call, None, out)
            elif kind == "message_start" and event.message is not None:
                self._count(event.message.usage)
                if self._counts:
                    self.partial_usage = self._usage()
                    out.append(PartialUsage(self.partial_usage))
            elif kind == "message_delta":
                self._count(event.usage)
                if event.delta is not None:
                    self._stop = event.delta.stop_reason or self._stop
                    self._details = event.delta.stop_details or self._details
            elif kind == "message_stop":
                self._end(out)
                break
            elif kind == "error":
                raise self._faults.from_stream(event.error)
        return out

    def close(self) -> list[ModelEvent]:
        """Return nothing: only `message_stop` ends a message."""
        return []

    def _start(self, index: int, fields: dict[str, Json], out: list[ModelEvent]) -> None:
        call = None
        self._kept.add(fields)
        if fields.get("type") == "tool_use":
            call = self._calls.open(str(fields.get("name") or ""), str(fields.get("id") or ""))
            if not call.name:
                raise self._faults.make("invalid_response", "a tool call has no name.")
            self._calls.begin(call, out)
            if fields.get("input"):
                self._calls.add(call, msgspec.json.encode(fields["input"]).decode(), out)
        block = self._blocks[index] = _Block(fields, call)
        for key, make in (("text", TextDelta), ("thinking", ReasoningDelta)):
            opening = fields.get(key)
            if isinstance(opening, str) and opening:
                block.pieces.append(opening)
                out.append(make(opening))

    def _rest(self, block: _Block, delta: _Delta, out: list[ModelEvent]) -> None:
        if delta.thinking:
            block.pieces.append(delta.thinking)
            out.append(ReasoningDelta(delta.thinking))
        elif delta.partial_json:
            block.pieces.append(delta.partial_json)
            if block.call is not None:
                self._calls.add(block.call, delta.partial_json, out)
            else:
                self._kept.add(delta.partial_json)
        elif delta.signature:
            self._kept.add(delta.signature)
            block.fields["signature"] = f"{block.fields.get('signature') or ''}{delta.signature}"
        elif delta.citation is not None:
            self._kept.add(delta.citation)
            block.fields["citations"] = block.fields.get("citations") or []
            cast(list[Json], block.fields["citations"]).append(delta.citation)

    def _count(self, usage: _Usage | None) -> None:
        if usage is None:
            return
        for name in (
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        ):
            count = getattr(usage, name)
            if count is not None:
                self._counts[name] = count
        if usage.output_tokens_details is not None:
            self._counts["thinking_tokens"] = usage.output_tokens_details.thinking_tokens or 0

    def _end(self, out: list[ModelEvent]) -> None:
        self._calls.finish_all(out)
        stop = _STOPS.get(self._stop, "end")
        if self._calls.calls and stop == "end":
            stop = "tool_calls"
        explanation = self._details.get("explanation")
        if stop == "refusal" and isinstance(explanation, str) and not self._items():
            out.append(TextDelta(explanation))
        self.ended = True
        out.append(TurnEnd(stop, self._usage(), VendorTurn(WIRE, self._items())))

    def _usage(self) -> Usage:
        counts = self._counts.get
        cached = counts("cache_read_input_tokens", 0)
        written = counts("cache_creation_input_tokens", 0)
        return Usage(
            input=counts("input_tokens", 0) + cached + written,
            output=counts("output_tokens", 0),
            cached=cached,
            reasoning=counts("thinking_tokens", 0),
            cache_write=written,
        )

    def _items(self) -> list[Json]:
        items: list[Json] = []
        for _, block in sorted(self._blocks.items()):
            whole = "".join(block.pieces)
            fields = dict(block.fields)
            if block.kind == "text":
                if not whole.strip():
                    # The API refuses an empty text block in the history.
                    continue
                fields["text"] = whole
            elif block.kind == "thinking":
                fields["thinking"] = whole
            elif whole:
                fields["input"] = object_of(whole)
            elif block.call is not None:
                fields["input"] = fields.get("input") or {}
            items.append(fields)
        while items and str(cast(dict[str, Json], items[-1]).get("type")).endswith("thinking"):
            # It also refuses thinking at the end of a message.
            items.pop()
        return items
