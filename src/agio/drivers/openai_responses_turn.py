"""OpenAI Responses: decodes the event stream of one response."""

from typing import cast

import msgspec
from msgspec import Struct

from agio.core.model import ModelEvent, ReasoningDelta, StopReason, TextDelta, TurnEnd, Usage, VendorTurn
from agio.drivers.calls import OpenCall, OpenCalls
from agio.drivers.conversation import whole_arguments
from agio.drivers.faults import Faults
from agio.drivers.kept import Kept
from agio.protocol.messages import Json

WIRE = "openai"


class _Event(Struct, gc=False):
    type: str = ""
    delta: Json = None
    output_index: int | None = None


class _Part(Struct, gc=False):
    summary_index: int | None = None


class _Done(Struct, gc=False):
    arguments: str | None = None


class _ItemEvent(Struct, gc=False):
    item: dict[str, Json] | None = None


class _InputDetails(Struct, gc=False):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OutputDetails(Struct, gc=False):
    reasoning_tokens: int | None = None


class _Usage(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _InputDetails | None = None
    output_tokens_details: _OutputDetails | None = None


class _Incomplete(Struct, gc=False):
    reason: str | None = None


class _Response(Struct, gc=False):
    output: list[dict[str, Json]] | None = None
    usage: _Usage | None = None
    status: str | None = None
    incomplete_details: _Incomplete | None = None
    error: Json = None


class _ResponseEvent(Struct, gc=False):
    response: _Response | None = None


_decode = msgspec.json.Decoder(_Event).decode
_decode_part = msgspec.json.Decoder(_Part).decode
_decode_done = msgspec.json.Decoder(_Done).decode
_decode_item = msgspec.json.Decoder(_ItemEvent).decode
_decode_response = msgspec.json.Decoder(_ResponseEvent).decode
_decode_error = msgspec.json.Decoder(dict[str, Json]).decode


class ResponsesTurn:
    """Decodes the events of one response."""

    def __init__(self, faults: Faults) -> None:
        self.ended = False
        self.partial_usage = Usage()
        self._faults = faults
        self._kept = Kept()
        self._calls = OpenCalls(self._kept)
        self._by_index: dict[int, OpenCall] = {}
        self._items: dict[int, dict[str, Json]] = {}
        self._spoke = False
        self._thought = False
        self._refused = False

    def read(self, items: list[bytes]) -> list[ModelEvent]:
        """Decode the data of events into model events."""
        out: list[ModelEvent] = []
        for data in items:
            if data == b"[DONE]":
                continue
            event = _decode(data)
            if event.type == "response.output_text.delta":
                text = event.delta
                if text.__class__ is str and text:
                    self._spoke = True
                    out.append(TextDelta(cast(str, text)))
            else:
                self._rest(event, data, out)
                if self.ended:
                    break
        return out

    def close(self) -> list[ModelEvent]:
        """Return nothing: only a terminal event ends a response."""
        return []

    def _rest(self, event: _Event, data: bytes, out: list[ModelEvent]) -> None:
        index = event.output_index or 0
        delta = event.delta if isinstance(event.delta, str) else ""
        match event.type:
            case "response.function_call_arguments.delta":
                if index in self._by_index:
                    self._calls.add(self._by_index[index], delta, out)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                if delta:
                    self._thought = True
                    out.append(ReasoningDelta(delta))
            case "response.reasoning_summary_part.added":
                if self._thought and _decode_part(data).summary_index:
                    out.append(ReasoningDelta("\n\n"))
            case "response.refusal.delta":
                if delta:
                    self._spoke = self._refused = True
                    out.append(TextDelta(delta))
            case "response.output_item.added":
                item = _decode_item(data).item or {}
                if item.get("type") == "function_call":
                    self._calls.begin(self._call(index, item), out)
            case "response.function_call_arguments.done":
                if index in self._by_index:
                    self._calls.finish(self._by_index[index], _decode_done(data).arguments, out)
            case "response.output_item.done":
                self._item_done(index, _decode_item(data).item or {}, out)
            case "response.completed" | "response.incomplete":
                self._end(_decode_response(data).response or _Response(), out)
            case "response.failed":
                failed = _decode_response(data).response or _Response()
                raise self._faults.from_stream(failed.error or "the response failed without a reason.")
            case "error":
                error = _decode_error(data)
                raise self._faults.from_stream(error.get("error") or {**error, "type": ""})
            case _:
                pass

    def _call(self, index: int, item: dict[str, Json]) -> OpenCall:
        call = self._by_index.get(index)
        if call is None:
            name = item.get("name")
            if not isinstance(name, str) or not name:
                raise self._faults.make("invalid_response", "a tool call has no name.")
            call = self._by_index[index] = self._calls.open(name, "")
        return call

    def _item_done(self, index: int, item: dict[str, Json], out: list[ModelEvent]) -> None:
        self._kept.add(item)
        self._items[index] = item
        if item.get("type") == "function_call":
            arguments = item.get("arguments")
            whole = arguments if isinstance(arguments, str) else ""
            call = self._call(index, item)
            self._calls.finish(call, whole, out)
            item["arguments"] = whole_arguments(whole or call.arguments)
        elif item.get("type") == "message":
            for part in cast(list[dict[str, Json]], item.get("content") or []):
                text = part.get("text") or part.get("refusal")
                self._refused = self._refused or part.get("type") == "refusal"
                if isinstance(text, str) and text and not self._spoke:
                    out.append(TextDelta(text))
            self._spoke = False

    def _end(self, response: _Response, out: list[ModelEvent]) -> None:
        if not self._items:
            for index, item in enumerate(response.output or ()):
                self._item_done(index, item, out)
        self._calls.finish_all(out)
        reason = response.incomplete_details.reason if response.incomplete_details is not None else None
        stop: StopReason = "end"
        if reason is not None or response.status == "incomplete":
            stop = "content_filter" if reason == "content_filter" else "length"
        elif self._calls.calls:
            stop = "tool_calls"
        elif self._refused:
            stop = "refusal"
        self.ended = True
        out.append(TurnEnd(stop, _usage(response.usage), VendorTurn(WIRE, self._returned())))

    def _returned(self) -> list[Json]:
        items: list[Json] = []
        followed = False
        for _, item in sorted(self._items.items(), reverse=True):
            reasoning = item.get("type") == "reasoning"
            followed = followed or not reasoning
            # The API refuses trailing reasoning, and reasoning given by id only, since nothing is stored.
            if followed and (not reasoning or item.get("encrypted_content") or item.get("content")):
                items.insert(0, item)
        return items


def _usage(usage: _Usage | None) -> Usage:
    if usage is None:
        return Usage()
    inputs = usage.input_tokens_details or _InputDetails()
    outputs = usage.output_tokens_details or _OutputDetails()
    return Usage(
        input=usage.input_tokens or 0,
        output=usage.output_tokens or 0,
        cached=inputs.cached_tokens or 0,
        reasoning=outputs.reasoning_tokens or 0,
        cache_write=inputs.cache_write_tokens or 0,
    )
