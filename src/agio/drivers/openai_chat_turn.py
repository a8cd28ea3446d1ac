"""OpenAI Chat Completions: decodes the chunks of one completion."""

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
from agio.drivers.conversation import whole_arguments
from agio.drivers.faults import Faults
from agio.drivers.kept import Kept
from agio.protocol.messages import Json

WIRE = "openai-chat"
_STOPS: dict[str, StopReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}


class _Function(Struct, gc=False):
    name: str | None = None
    arguments: str | None = None


class _ToolCall(Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    extra_content: Json = None


class _Thinking(Struct, gc=False):
    text: str | None = None


class _Piece(Struct, gc=False):
    text: str | None = None
    thinking: list[_Thinking] | None = None


class _Delta(Struct, gc=False):
    content: str | list[_Piece] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None
    reasoning_details: list[dict[str, Json]] | None = None


class _Choice(Struct, gc=False):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _InputDetails(Struct, gc=False):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OutputDetails(Struct, gc=False):
    reasoning_tokens: int | None = None


class _Usage(Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None
    prompt_cache_hit_tokens: int | None = None


class _Groq(Struct, gc=False):
    usage: _Usage | None = None


class _Chunk(Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    x_groq: _Groq | None = None
    error: Json = None


_decode = msgspec.json.Decoder(_Chunk).decode


class ChatTurn:
    """Decodes the chunks of one completion."""

    def __init__(self, faults: Faults) -> None:
        self.ended = False
        self.partial_usage = Usage()
        self._faults = faults
        self._kept = Kept()
        self._calls = OpenCalls(self._kept)
        self._by_index: dict[int, OpenCall] = {}
        self._extra: dict[int, Json] = {}
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: list[str] = []
        self._details: list[dict[str, Json]] = []
        self._finish: str | None = None

    def read(self, items: list[bytes]) -> list[ModelEvent]:
        """Decode the data of chunks into model events."""
        out: list[ModelEvent] = []
        for data in items:
            if data == b"[DONE]":
                self._end(out)
                break
            chunk = _decode(data)
            if chunk.choices:
                choice = chunk.choices[0]
                delta = choice.delta
                if delta is not None:
                    text = delta.content
                    if isinstance(text, str):
                        if text:
                            self._text.append(text)
                            out.append(TextDelta(text))
                    elif text is not None:
                        self._pieces(text, out)
                    self._rest(delta, out)
                if choice.finish_reason:
                    self._finish = choice.finish_reason
            usage = chunk.usage
            if usage is None and chunk.x_groq is not None:
                usage = chunk.x_groq.usage  # Groq reports usage only here
            if usage is not None:
                self.partial_usage = _usage(usage)
                out.append(PartialUsage(self.partial_usage))
            if chunk.error:
                raise self._faults.from_stream(chunk.error)
        return out

    def close(self) -> list[ModelEvent]:
        """End the turn if a finish reason arrived: some compatible services omit `[DONE]`."""
        out: list[ModelEvent] = []
        if self._finish is not None:
            self._end(out)
        return out

    def _rest(self, delta: _Delta, out: list[ModelEvent]) -> None:
        thought = delta.reasoning_content or delta.reasoning
        if thought:
            if delta.reasoning_content:
                self._reasoning.append(thought)
            out.append(ReasoningDelta(thought))
        if delta.refusal:
            self._refusal.append(delta.refusal)
            out.append(TextDelta(delta.refusal))
        if delta.tool_calls:
            for piece in delta.tool_calls:
                self._call_piece(piece, out)
        if delta.reasoning_details:
            for detail in delta.reasoning_details:
                self._kept.add(detail)
                _join_detail(self._details, detail)

    def _pieces(self, pieces: list[_Piece], out: list[ModelEvent]) -> None:
        for piece in pieces:
            thoughts = [thought.text for thought in piece.thinking or () if thought.text]
            out.extend(map(ReasoningDelta, thoughts))
            if piece.text:
                self._text.append(piece.text)
                out.append(TextDelta(piece.text))

    def _call_piece(self, piece: _ToolCall, out: list[ModelEvent]) -> None:
        function = piece.function or _Function()
        call = self._call_of(piece, function)
        if piece.extra_content is not None:
            self._kept.add(piece.extra_content)
            self._extra[call.index] = piece.extra_content
        if function.name and not call.begun:
            # A name arrives whole, in pieces, or repeated with every piece.
            self._kept.add(function.name)
            repeated = function.name.startswith(call.name)
            call.name = function.name if repeated else call.name + function.name
        if function.arguments and call.name:
            self._calls.add(call, function.arguments, out)

    def _call_of(self, piece: _ToolCall, function: _Function) -> OpenCall:
        calls = self._calls.calls
        index = piece.index
        if index is None:
            same = [call for call in calls if piece.id and call.vendor_id == piece.id]
            if same or (calls and not piece.id):
                return (same or calls)[-1]
            index = len(calls)
        call = self._by_index.get(index)
        # Some services give all parallel calls the index 0: a new id with a name is a new call.
        if call is None or (piece.id and call.vendor_id and piece.id != call.vendor_id and function.name):
            self._kept.add(piece.id)
            call = self._by_index[index] = self._calls.open("", piece.id or "")
        elif piece.id and not call.vendor_id:
            call.vendor_id = piece.id
        return call

    def _end(self, out: list[ModelEvent]) -> None:
        if any(not call.name for call in self._calls.calls):
            raise self._faults.make("invalid_response", "a tool call has no name.")
        self._calls.finish_all(out)
        stop = _STOPS.get(self._finish or "", "end")
        if self._refusal and stop == "end":
            stop = "refusal"
        elif self._calls.calls and stop == "end":
            stop = "tool_calls"
        self.ended = True
        said = self._text or self._refusal or self._calls.calls
        out.append(TurnEnd(stop, self.partial_usage, VendorTurn(WIRE, [self._message()] if said else [])))

    def _message(self) -> Json:
        message: dict[str, Json] = {"role": "assistant", "content": "".join(self._text) or None}
        if self._refusal:
            message["refusal"] = "".join(self._refusal)
        if self._calls.calls:
            tool_calls: list[Json] = []
            for call in self._calls.calls:
                item = tool_call(call.vendor_id, call.name, whole_arguments(call.arguments))
                if call.index in self._extra:
                    # Gemini puts its thought signatures here in this format.
                    item["extra_content"] = self._extra[call.index]
                tool_calls.append(item)
            message["tool_calls"] = tool_calls
            if self._reasoning:
                # DeepSeek and Kimi require it back during tool use, and only then.
                message["reasoning_content"] = "".join(self._reasoning)
        if self._details:
            message["reasoning_details"] = self._details
        return message


def _join_detail(details: list[dict[str, Json]], detail: dict[str, Json]) -> None:
    """Merge OpenRouter's streamed reasoning details: pieces of one entry share type and index."""
    last = details[-1] if details else None
    if last is None or any(last.get(key) != detail.get(key) for key in ("type", "index")):
        details.append(dict(detail))
        return
    for key, value in detail.items():
        old = last.get(key)
        if key in ("text", "summary", "data") and isinstance(old, str) and isinstance(value, str):
            last[key] = old + value
        elif value is not None:
            last[key] = value


def _usage(usage: _Usage) -> Usage:
    inputs = usage.prompt_tokens_details or _InputDetails()
    outputs = usage.completion_tokens_details or _OutputDetails()
    return Usage(
        input=usage.prompt_tokens or 0,
        output=usage.completion_tokens or 0,
        cached=inputs.cached_tokens or usage.prompt_cache_hit_tokens or 0,
        reasoning=outputs.reasoning_tokens or 0,
        cache_write=inputs.cache_write_tokens or 0,
    )


def tool_call(call_id: str, name: str, arguments: str) -> dict[str, Json]:
    """Return a call in the format of an assistant message."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
