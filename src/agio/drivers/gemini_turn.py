"""Gemini generateContent: decodes the stream of one response."""

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
from agio.drivers.calls import OpenCalls
from agio.drivers.faults import Faults
from agio.drivers.kept import Kept
from agio.protocol.messages import Json

WIRE = "gemini"
_STOPS: dict[str, StopReason] = {
    **dict.fromkeys(("MAX_TOKENS", "CONTINUATION"), "length"),
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT"), "content_filter"
    ),
    **dict.fromkeys(
        ("SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"), "content_filter"
    ),
}
_NONSENSE = ("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS")
_OTHER_KINDS = (
    ("inline_data", "inlineData"),
    ("file_data", "fileData"),
    ("executable_code", "executableCode"),
    ("code_execution_result", "codeExecutionResult"),
    ("tool_call", "toolCall"),
    ("tool_response", "toolResponse"),
)


class _FunctionCall(Struct, gc=False):
    name: str | None = None
    id: str | None = None
    args: dict[str, Json] | None = None


class _Part(Struct, gc=False, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _FunctionCall | None = None
    inline_data: Json = None
    file_data: Json = None
    executable_code: Json = None
    code_execution_result: Json = None
    tool_call: Json = None
    tool_response: Json = None


class _Content(Struct, gc=False):
    parts: list[_Part] | None = None


class _Candidate(Struct, gc=False, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _Feedback(Struct, gc=False, rename="camel"):
    block_reason: str | None = None


class _Usage(Struct, gc=False, rename="camel"):
    prompt_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None


class _Chunk(Struct, gc=False, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: _Usage | None = None
    prompt_feedback: _Feedback | None = None
    error: Json = None


_decode = msgspec.json.Decoder(_Chunk).decode


class GeminiTurn:
    """Decodes the chunks of one response. The stream's only end marker is a finish reason."""

    def __init__(self, faults: Faults) -> None:
        self.ended = False
        self._faults = faults
        self._kept = Kept()
        self._calls = OpenCalls(self._kept)
        self._items: list[Json] = []
        self._run: list[str] = []
        self._run_is_thought = False
        self._stop: StopReason | None = None
        self._usage = _Usage()

    def read(self, items: list[bytes]) -> list[ModelEvent]:
        """Decode the data of chunks into model events."""
        out: list[ModelEvent] = []
        for data in items:
            if data == b"[DONE]":
                continue
            chunk = _decode(data)
            if chunk.error:
                raise self._faults.from_stream(chunk.error)
            if chunk.usage_metadata is not None:
                self._usage = chunk.usage_metadata
                out.append(PartialUsage(self.partial_usage))
            if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
                self._stop = "content_filter"
            if chunk.candidates:
                candidate = chunk.candidates[0]
                if candidate.content is not None:
                    for part in candidate.content.parts or ():
                        self._part(part, out)
                if candidate.finish_reason:
                    self._finish(candidate.finish_reason, candidate.finish_message)
        return out

    def close(self) -> list[ModelEvent]:
        """End the turn, if a finish reason arrived."""
        if self._stop is None:
            return []
        self._end_run()
        stop = "tool_calls" if self._calls.calls and self._stop == "end" else self._stop
        self.ended = True
        return [TurnEnd(stop, self.partial_usage, VendorTurn(WIRE, self._items))]

    @property
    def partial_usage(self) -> Usage:
        """The usage reported so far."""
        usage = self._usage
        thoughts = usage.thoughts_token_count or 0
        return Usage(
            input=(usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0),
            output=(usage.candidates_token_count or 0) + thoughts,
            cached=usage.cached_content_token_count or 0,
            reasoning=thoughts,
        )

    def _part(self, part: _Part, out: list[ModelEvent]) -> None:
        text = part.text
        thought = bool(part.thought)
        if text:
            out.append(ReasoningDelta(text) if thought else TextDelta(text))
            if part.thought_signature is None:
                if self._run and self._run_is_thought != thought:
                    self._end_run()
                self._run_is_thought = thought
                self._run.append(text)
                return
        self._end_run()
        item: dict[str, Json] = {}
        if part.function_call is not None:
            item["functionCall"] = self._call(part.function_call, out)
        else:
            for name, key in _OTHER_KINDS:
                value = getattr(part, name)
                if value is not None:
                    item[key] = value
            if not item and (text or part.thought_signature):
                item["text"] = text or ""
        if item:
            if thought:
                item["thought"] = True
            if part.thought_signature is not None:
                # A signature belongs to its part: never merge such a part with another.
                item["thoughtSignature"] = part.thought_signature
            self._kept.add(item)
            self._items.append(item)

    def _call(self, call: _FunctionCall, out: list[ModelEvent]) -> dict[str, Json]:
        if not call.name:
            raise self._faults.make("invalid_response", "a function call has no name.")
        args = call.args or {}
        self._calls.finish(
            self._calls.open(call.name, call.id or ""), msgspec.json.encode(args).decode(), out
        )
        item: dict[str, Json] = {"name": call.name, "args": args}
        if call.id:
            item["id"] = call.id
        return item

    def _end_run(self) -> None:
        if self._run:
            item: dict[str, Json] = {"text": "".join(self._run)}
            if self._run_is_thought:
                item["thought"] = True
            self._items.append(item)
            self._run = []

    def _finish(self, reason: str, message: str | None) -> None:
        if reason in _NONSENSE:
            raise self._faults.make("invalid_response", f"{reason}: {message or 'no reason given'}.")
        self._stop = _STOPS.get(reason, "end")
