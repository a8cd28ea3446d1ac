"""Chat Completions: the server side."""

from collections.abc import Mapping, Sequence

import msgspec

from agio.core.model import StopReason, Usage
from agio.protocol.messages import Json
from agio.testing.capture import Reading
from agio.testing.connection import HttpRequest
from agio.testing.faults import ProblemKind
from agio.testing.script import Reply
from agio.testing.wires import openai_error
from agio.testing.wires.openai_chat_request import ChatRequest
from agio.testing.wires.openai_chat_rules import check, view
from agio.testing.wires.wire import Answer, Problem, Rejected, ServerEvent, encode

_CREATED = 1_767_225_600
_FINISH: dict[StopReason, str] = {
    "end": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "refusal": "stop",
    "content_filter": "content_filter",
}


class OpenAIChatWire:
    """`POST /v1/chat/completions`, with `reasoning_content` as compatible services send it."""

    name = "openai-chat"
    base_path = "/v1"
    line_end = "\n"

    def accepts(self, path: str) -> bool:
        """Whether requests to this path are in this format."""
        return path == "/v1/chat/completions"

    def key(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        """Return a request's API key."""
        return bearer(headers)

    def read(self, request: HttpRequest) -> Reading:
        """Check and decode a request. Raises Rejected."""
        try:
            body = msgspec.json.decode(request.body, type=ChatRequest)
        except msgspec.DecodeError as error:
            raise Rejected(f"Invalid request: {error}") from error
        check(body)
        return view(body)

    def lists(self, request: HttpRequest) -> bool:
        """Whether this requests the list of models; Anthropic's has the same path."""
        return request.path == "/v1/models" and "anthropic-version" not in request.headers

    def listing(self, models: Sequence[str]) -> Json:
        """Return the list of models."""
        return list_models(models)

    def events(self, reply: Reply, answer: Answer) -> list[ServerEvent]:
        """Return all events of a reply's stream."""
        counts = "usage" in answer.reading.wants
        shared: dict[str, Json] = {
            "id": answer.id("chatcmpl-"),
            "object": "chat.completion.chunk",
            "created": _CREATED,
            "model": answer.reading.model,
            "service_tier": "default",
            "system_fingerprint": None,
        }
        usage: dict[str, Json] = {"usage": None} if counts else {}

        def chunk(delta: dict[str, Json], finish: str | None = None) -> ServerEvent:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            noise = {"obfuscation": "Xy0k9"[: 1 + len(events) % 5]}
            data = encode({**shared, "choices": [choice], **usage, **noise})
            return ServerEvent(data, ending=finish is not None)

        events: list[ServerEvent] = []
        events.append(chunk({"role": "assistant", "content": "", "refusal": None}))
        events.extend(chunk({"reasoning_content": piece}) for piece in reply.pieces(reply.reasoning))
        events.extend(chunk({"content": piece}) for piece in reply.pieces(reply.text))
        events.extend(chunk({"refusal": piece}) for piece in reply.pieces(reply.refusal or ""))
        events.extend(chunk({"tool_calls": [delta]}) for delta in reply.weave(_call_deltas(reply, answer)))
        events.append(chunk({}, _FINISH[reply.stop_reason]))
        if counts:
            total = encode({**shared, "choices": [], "usage": _usage(reply.tokens), "obfuscation": "u"})
            events.append(ServerEvent(total, ending=True))
        events.append(ServerEvent(b"[DONE]", ending=True))
        return events

    def document(self, reply: Reply, answer: Answer) -> Json:
        """Return the response without streaming."""
        calls = [
            {"id": _call_id(reply, answer, at), "type": "function", "function": _function(reply, at)}
            for at in range(len(reply.tool_calls))
        ]
        message: dict[str, Json] = {
            "role": "assistant",
            "content": reply.text or None,
            "refusal": reply.refusal,
            "annotations": [],
            **({"tool_calls": calls} if calls else {}),
            **({"reasoning_content": reply.reasoning} if reply.reasoning else {}),
        }
        finish = _FINISH[reply.stop_reason]
        return {
            "id": answer.id("chatcmpl-"),
            "object": "chat.completion",
            "created": _CREATED,
            "model": answer.reading.model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
            "usage": _usage(reply.tokens),
            "service_tier": "default",
        }

    def problem(self, kind: ProblemKind, message: str | None = None) -> Problem:
        """Return OpenAI's error for a kind of problem."""
        return openai_error.problem(kind, message)

    def error_body(self, problem: Problem) -> Json:
        """Return the body of an error response."""
        return {"error": openai_error.error_table(problem)}

    def error_event(self, problem: Problem, *, as_turn: bool) -> ServerEvent:
        """Return the error as a stream event."""
        return ServerEvent(encode(self.error_body(problem)))


def list_models(models: Sequence[str]) -> Json:
    """Return OpenAI's list of models, the same for both of its formats."""
    items: list[Json] = [
        {"id": name, "object": "model", "created": 1767225600, "owned_by": "agio"} for name in models
    ]
    return {"object": "list", "data": items}


def bearer(headers: Mapping[str, str]) -> str | None:
    """Return the bearer token of a request."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else None


def _call_id(reply: Reply, answer: Answer, at: int) -> str | None:
    given = reply.tool_calls[at].id
    return answer.id("call_", at) if given is None else given or None


def _function(reply: Reply, at: int) -> dict[str, str]:
    call = reply.tool_calls[at]
    return {"name": call.name, "arguments": call.arguments_text()}


def _call_deltas(reply: Reply, answer: Answer) -> list[list[dict[str, Json]]]:
    deltas: list[list[dict[str, Json]]] = []
    for at, call in enumerate(reply.tool_calls):
        id_ = _call_id(reply, answer, at)
        first: dict[str, Json] = {
            "index": at,
            **({"id": id_} if id_ else {}),
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }
        rest: list[dict[str, Json]] = [
            {"index": at, "function": {"arguments": piece}} for piece in reply.pieces(call.arguments_text())
        ]
        deltas.append([first, *rest])
    return deltas


def _usage(tokens: Usage) -> dict[str, Json]:
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.total,
        "prompt_tokens_details": {"cached_tokens": tokens.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": tokens.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
