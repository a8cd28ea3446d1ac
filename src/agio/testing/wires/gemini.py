"""Gemini generateContent: the server side."""

import re
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from agio.core.model import StopReason, Usage
from agio.protocol.messages import Json
from agio.testing.capture import Reading
from agio.testing.connection import HttpRequest
from agio.testing.faults import ProblemKind
from agio.testing.script import Reply
from agio.testing.wires.gemini_request import GenerateRequest
from agio.testing.wires.gemini_rules import check, view
from agio.testing.wires.wire import Answer, Problem, Rejected, ServerEvent, encode, sign

_PATH = re.compile(r"/v1beta/models/([^/:]+):(streamGenerateContent|generateContent)")
_FINISH: dict[StopReason, str] = {
    "end": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "refusal": "PROHIBITED_CONTENT",
    "content_filter": "SAFETY",
}
_RPC = "type.googleapis.com/google.rpc."
_QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. * Quota exceeded for metric:"
    " generativelanguage.googleapis.com/generate_content_requests, limit: 5\nPlease retry in 2.5s."
)
_PROBLEMS: dict[ProblemKind, Problem] = {
    "rate_limited": Problem(429, "RESOURCE_EXHAUSTED", _QUOTA, "GenerateRequestsPerMinutePerProjectPerModel"),
    "quota_exceeded": Problem(
        429, "RESOURCE_EXHAUSTED", _QUOTA, "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
    ),
    "unavailable": Problem(500, "INTERNAL", "An internal error has occurred. Please retry."),
    "overloaded": Problem(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "invalid_api_key": Problem(
        400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", "API_KEY_INVALID"
    ),
    "permission_denied": Problem(403, "PERMISSION_DENIED", "The caller does not have permission"),
    "model_not_found": Problem(
        404, "NOT_FOUND", "models/nope is not found for API version v1beta, or is not supported."
    ),
    "bad_request": Problem(400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    "context_too_long": Problem(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "request_too_large": Problem(
        400, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes."
    ),
}


class GeminiWire:
    """`POST /v1beta/models/{model}:streamGenerateContent`, with the line ends of Google's servers."""

    name = "gemini"
    base_path = ""
    line_end = "\r\n"

    def accepts(self, path: str) -> bool:
        """Whether requests to this path are in this format."""
        return _PATH.fullmatch(path) is not None

    def key(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        """Return a request's API key."""
        return headers.get("x-goog-api-key") or query.get("key")

    def read(self, request: HttpRequest) -> Reading:
        """Check and decode a request. Raises Rejected."""
        found = _PATH.fullmatch(request.path)
        model, verb = found.groups() if found is not None else ("", "")
        try:
            body = msgspec.json.decode(request.body, type=GenerateRequest)
        except msgspec.DecodeError as error:
            raise Rejected(f"Invalid JSON payload received. {error}") from error
        check(body, model)
        streams = verb == "streamGenerateContent"
        reading = view(body, model, stream=streams and request.query.get("alt") == "sse")
        return replace(reading, wants=frozenset({"array"})) if streams and not reading.stream else reading

    def lists(self, request: HttpRequest) -> bool:
        """Whether this requests the list of models."""
        return request.path == "/v1beta/models"

    def listing(self, models: Sequence[str]) -> Json:
        """Return the list of models, ending with one that does not generate content."""
        verbs: list[Json] = ["generateContent", "countTokens"]
        items: list[Json] = [
            {"name": f"models/{name}", "supportedGenerationMethods": verbs} for name in models
        ]
        return {
            "models": [*items, {"name": "models/embedder", "supportedGenerationMethods": ["embedContent"]}]
        }

    def events(self, reply: Reply, answer: Answer) -> list[ServerEvent]:
        """Return the whole stream of a reply. A filtered reply without content is a blocked prompt."""
        if reply.stop_reason == "content_filter" and not reply.text:
            return [ServerEvent(encode(_blocked(reply, answer)), ending=True)]
        thoughts = [[_text(piece, thought=True)] for piece in reply.pieces(reply.reasoning)]
        chunks = thoughts + [[_text(piece)] for piece in reply.pieces(reply.text + (reply.refusal or ""))]
        chunks += [[part] for part in _calls(reply, answer)] if reply.interleave else [_calls(reply, answer)]
        events = [ServerEvent(self._chunk(reply, answer, chunk)) for chunk in chunks if chunk]
        last: list[dict[str, Json]] = []
        if not reply.tool_calls and (reply.reasoning or reply.hidden_reasoning):
            last = [{"text": "", "thoughtSignature": sign("text")}]
        events.append(ServerEvent(self._chunk(reply, answer, last, _finish(reply)), ending=True))
        return events

    def document(self, reply: Reply, answer: Answer) -> Json:
        """Return the response without streaming."""
        parts: list[dict[str, Json]] = []
        if reply.reasoning:
            parts.append({"text": reply.reasoning, "thought": True})
        if reply.text:
            parts.append({"text": reply.text})
        parts += _calls(reply, answer)
        document = msgspec.json.decode(self._chunk(reply, answer, parts, _finish(reply)))
        return [document] if "array" in answer.reading.wants else document

    def _chunk(
        self, reply: Reply, answer: Answer, parts: list[dict[str, Json]], finish: str | None = None
    ) -> bytes:
        content: dict[str, Json] = {"parts": parts, "role": "model"} if parts else {"role": "model"}
        candidate: dict[str, Json] = {"content": content}
        if finish is not None:
            candidate["finishReason"] = finish
        return encode(
            {
                "candidates": [{**candidate, "index": 0}],
                "usageMetadata": _usage(reply.tokens, whole=finish is not None),
                "modelVersion": answer.reading.model,
                "responseId": answer.id(""),
            }
        )

    def problem(self, kind: ProblemKind, message: str | None = None) -> Problem:
        """Return Google's error for a kind of problem."""
        known = _PROBLEMS[kind]
        return known if message is None else Problem(known.status, known.type, message, known.code)

    def error_body(self, problem: Problem) -> Json:
        """Return the body of an error response."""
        status = "INTERNAL" if problem.type == "server_error" else problem.type
        error: dict[str, Json] = {"code": problem.status, "message": problem.message, "status": status}
        if problem.type == "RESOURCE_EXHAUSTED":
            error["details"] = [
                {"@type": f"{_RPC}QuotaFailure", "violations": [{"quotaId": problem.code}]},
                {"@type": f"{_RPC}RetryInfo", "retryDelay": "2.5s"},
            ]
        elif problem.code is not None:
            info: dict[str, Json] = {"reason": problem.code, "domain": "googleapis.com"}
            error["details"] = [{"@type": f"{_RPC}ErrorInfo", **info}]
        return {"error": error}

    def error_event(self, problem: Problem, *, as_turn: bool) -> ServerEvent:
        """Return the error as a stream event."""
        return ServerEvent(encode(self.error_body(problem)))


def _text(text: str, *, thought: bool = False) -> dict[str, Json]:
    return {"text": text, "thought": True} if thought else {"text": text}


def _finish(reply: Reply) -> str:
    if any(isinstance(call.arguments, str) for call in reply.tool_calls):
        return "MALFORMED_FUNCTION_CALL"
    return _FINISH[reply.stop_reason]


def _blocked(reply: Reply, answer: Answer) -> dict[str, Json]:
    return {
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": reply.tokens.input, "totalTokenCount": reply.tokens.input},
        "modelVersion": answer.reading.model,
        "responseId": answer.id(""),
    }


def _calls(reply: Reply, answer: Answer) -> list[dict[str, Json]]:
    parts: list[dict[str, Json]] = []
    for at, call in enumerate(reply.tool_calls):
        if isinstance(call.arguments, str):
            continue
        id_ = answer.id("", at) if call.id is None else call.id
        table: dict[str, Json] = {"name": call.name, "args": call.arguments}
        part: dict[str, Json] = {"functionCall": {**table, "id": id_} if id_ else table}
        if not parts:
            part["thoughtSignature"] = sign("call", call.name, call.arguments_text())
        parts.append(part)
    return parts


def _usage(tokens: Usage, *, whole: bool) -> dict[str, Json]:
    usage: dict[str, Json] = {"promptTokenCount": tokens.input}
    written = tokens.output - tokens.reasoning if whole else 1
    usage["candidatesTokenCount"] = written
    usage["totalTokenCount"] = tokens.input + written + tokens.reasoning
    if tokens.cached:
        usage["cachedContentTokenCount"] = tokens.cached
        usage["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": tokens.cached}]
    usage["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": tokens.input}]
    if tokens.reasoning:
        usage["thoughtsTokenCount"] = tokens.reasoning
    return usage
