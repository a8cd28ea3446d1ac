"""Anthropic Messages: the server side."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from agio.core.model import StopReason, Usage
from agio.protocol.messages import Json
from agio.testing.capture import Reading
from agio.testing.connection import HttpRequest
from agio.testing.faults import ProblemKind
from agio.testing.script import Call, Reply
from agio.testing.wires.anthropic_request import MessagesRequest
from agio.testing.wires.anthropic_rules import check, view
from agio.testing.wires.wire import Answer, Problem, Rejected, ServerEvent, encode, sign

_STOP: dict[StopReason, str] = {
    "end": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
    "content_filter": "refusal",
}
_PROBLEMS: dict[ProblemKind, Problem] = {
    "rate_limited": Problem(
        429,
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 50 requests per minute.",
    ),
    "quota_exceeded": Problem(
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
    ),
    "unavailable": Problem(500, "api_error", "Internal server error"),
    "overloaded": Problem(529, "overloaded_error", "Overloaded"),
    "invalid_api_key": Problem(401, "authentication_error", "invalid x-api-key"),
    "permission_denied": Problem(
        403, "permission_error", "Your API key does not have permission to use the specified resource."
    ),
    "model_not_found": Problem(404, "not_found_error", "model: nope"),
    "bad_request": Problem(
        400, "invalid_request_error", "messages.0.content: Input should be a valid string"
    ),
    "context_too_long": Problem(
        400, "invalid_request_error", "prompt is too long: 214313 tokens > 200000 maximum"
    ),
    "request_too_large": Problem(413, "request_too_large", "Request exceeds the maximum size"),
}


class AnthropicWire:
    """`POST /v1/messages`."""

    name = "anthropic"
    base_path = ""
    line_end = "\n"

    def accepts(self, path: str) -> bool:
        """Whether requests to this path are in this format."""
        return path == "/v1/messages"

    def key(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        """Return a request's API key."""
        return headers.get("x-api-key")

    def read(self, request: HttpRequest) -> Reading:
        """Check and decode a request. Raises Rejected."""
        if request.headers.get("anthropic-version") != "2023-06-01":
            raise Rejected("anthropic-version: header is required")
        try:
            body = msgspec.json.decode(request.body, type=MessagesRequest)
        except msgspec.DecodeError as error:
            raise Rejected(f"{error}") from error
        check(body)
        return view(body)

    def lists(self, request: HttpRequest) -> bool:
        """Whether this requests the list of models; OpenAI's has the same path."""
        return request.path == "/v1/models" and "anthropic-version" in request.headers

    def listing(self, models: Sequence[str]) -> Json:
        """Return the list of models."""
        items: list[Json] = [
            {"type": "model", "id": name, "display_name": name.title(), "created_at": "2026-01-01T00:00:00Z"}
            for name in models
        ]
        ends: dict[str, Json] = {
            "first_id": models[0] if models else None,
            "last_id": models[-1] if models else None,
        }
        return {"data": items, "has_more": False, **ends}

    def events(self, reply: Reply, answer: Answer) -> list[ServerEvent]:
        """Return all events of a reply's stream."""
        start: dict[str, Json] = {
            **self._message(reply, answer),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }
        start["usage"] = {**_usage(reply.tokens), "output_tokens": 1}
        events = [_event("message_start", message=start)]
        blocks = _blocks(reply, answer)
        first_call = len(blocks) - len(reply.tool_calls)
        streams = [list(_block_events(at, block, reply)) for at, block in enumerate(blocks)]
        for stream in streams[:first_call]:
            events.extend(stream)
        events.extend(reply.weave(streams[first_call:]))
        events.insert(2, _event("ping"))
        stop = {"stop_reason": _STOP[reply.stop_reason], "stop_sequence": None}
        events.append(_event("message_delta", ending=True, delta=stop, usage=_usage(reply.tokens)))
        events.append(_event("message_stop", ending=True))
        return events

    def document(self, reply: Reply, answer: Answer) -> Json:
        """Return the response without streaming."""
        return {**self._message(reply, answer), "content": _blocks(reply, answer)}

    def _message(self, reply: Reply, answer: Answer) -> dict[str, Json]:
        return {
            "model": answer.reading.model,
            "id": answer.id("msg_01"),
            "type": "message",
            "role": "assistant",
            "content": [],
            "stop_reason": _STOP[reply.stop_reason],
            "stop_sequence": None,
            "usage": _usage(reply.tokens),
        }

    def problem(self, kind: ProblemKind, message: str | None = None) -> Problem:
        """Return Anthropic's error for a kind of problem."""
        known = _PROBLEMS[kind]
        return known if message is None else Problem(known.status, known.type, message)

    def error_body(self, problem: Problem) -> Json:
        """Return the body of an error response."""
        type_ = "api_error" if problem.type == "server_error" else problem.type
        return {
            "type": "error",
            "error": {"type": type_, "message": problem.message},
            "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy",
        }

    def error_event(self, problem: Problem, *, as_turn: bool) -> ServerEvent:
        """Return the error as a stream event."""
        return ServerEvent(encode(self.error_body(problem)), "error")


def _event(name: str, *, ending: bool = False, **fields: Json) -> ServerEvent:
    return ServerEvent(encode({"type": name, **fields}), name, ending)


def _blocks(reply: Reply, answer: Answer) -> list[dict[str, Json]]:
    blocks: list[dict[str, Json]] = []
    if reply.hidden_reasoning:
        blocks.append({"type": "redacted_thinking", "data": sign("redacted")})
    if reply.reasoning:
        signature = sign("thinking", reply.reasoning)
        blocks.append({"type": "thinking", "thinking": reply.reasoning, "signature": signature})
    if text := reply.text + (reply.refusal or ""):
        blocks.append({"type": "text", "text": text})
    for at, call in enumerate(reply.tool_calls):
        id_ = answer.id("toolu_01", at) if call.id is None else call.id
        blocks.append({"type": "tool_use", "id": id_, "name": call.name, "input": _input(call)})
    return blocks


def _input(call: Call) -> Json:
    return {} if isinstance(call.arguments, str) else call.arguments


def _block_events(at: int, block: dict[str, Json], reply: Reply) -> Iterator[ServerEvent]:
    def delta(type_: str, name: str, value: Json) -> ServerEvent:
        return _event("content_block_delta", index=at, delta={"type": type_, name: value})

    empty: dict[str, Json] = {"thinking": "", "signature": "", "text": "", "input": {}}
    start: dict[str, Json] = {name: empty.get(name, value) for name, value in block.items()}
    yield _event("content_block_start", index=at, content_block=start)
    match block["type"]:
        case "thinking":
            for piece in reply.pieces(reply.reasoning):
                yield delta("thinking_delta", "thinking", piece)
            yield delta("signature_delta", "signature", block["signature"])
        case "text":
            for piece in reply.pieces(str(block["text"])):
                yield delta("text_delta", "text", piece)
        case "tool_use":
            yield delta("input_json_delta", "partial_json", "")
            call = reply.tool_calls[at - _calls_start(reply)]
            text = call.arguments_text()
            for piece in reply.pieces("" if text == "{}" else text):
                yield delta("input_json_delta", "partial_json", piece)
        case _:
            pass
    yield _event("content_block_stop", index=at)


def _calls_start(reply: Reply) -> int:
    return bool(reply.hidden_reasoning) + bool(reply.reasoning) + bool(reply.text or reply.refusal)


def _usage(tokens: Usage) -> dict[str, Json]:
    return {
        "input_tokens": tokens.input - tokens.cached - tokens.cache_write,
        "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": tokens.cache_write, "ephemeral_1h_input_tokens": 0},
        "output_tokens": tokens.output,
        "service_tier": "standard",
    }
