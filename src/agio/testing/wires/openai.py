"""OpenAI Responses: the server side."""

from collections.abc import Mapping, Sequence

from agio.core.model import StopReason, Usage
from agio.protocol.messages import Json
from agio.testing.capture import Reading
from agio.testing.connection import HttpRequest
from agio.testing.faults import ProblemKind
from agio.testing.script import Reply
from agio.testing.wires import openai_error
from agio.testing.wires.openai_chat import bearer, list_models
from agio.testing.wires.openai_request import decode
from agio.testing.wires.openai_rules import check, view
from agio.testing.wires.wire import Answer, Problem, ServerEvent, encode, sign

_INCOMPLETE: dict[StopReason, str] = {"length": "max_output_tokens", "content_filter": "content_filter"}
_ERROR_CODES = {
    "rate_limit_exceeded",
    "insufficient_quota",
    "context_length_exceeded",
    "server_is_overloaded",
}


class OpenAIWire:
    """`POST /v1/responses`. It remembers the reasoning that each item requires back."""

    name = "openai"
    base_path = "/v1"
    line_end = "\n"

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}

    def accepts(self, path: str) -> bool:
        """Whether requests to this path are in this format."""
        return path == "/v1/responses"

    def key(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        """Return a request's API key."""
        return bearer(headers)

    def read(self, request: HttpRequest) -> Reading:
        """Check and decode a request. Raises Rejected."""
        body = decode(request.body)
        check(body, self._reasons)
        return view(body)

    def lists(self, request: HttpRequest) -> bool:
        """Whether this requests the list of models; Anthropic's has the same path."""
        return request.path == "/v1/models" and "anthropic-version" not in request.headers

    def listing(self, models: Sequence[str]) -> Json:
        """Return the list of models."""
        return list_models(models)

    def events(self, reply: Reply, answer: Answer) -> list[ServerEvent]:
        """Return all events of a reply's stream."""
        stream = _Stream(reply)
        items = self._items(reply, answer)
        begun = {**_response(reply, answer, []), "status": "in_progress", "usage": None, "completed_at": None}
        begun["incomplete_details"] = None
        stream.add("response.created", {"response": begun})
        stream.add("response.in_progress", {"response": begun})
        calls: list[list[tuple[str, dict[str, Json]]]] = []
        for at, item in enumerate(items):
            match item["type"]:
                case "reasoning":
                    stream.add_reasoning(at, item)
                case "message":
                    stream.add_message(at, item)
                case _:
                    calls.append(_call_events(at, item, reply))
        for name, fields in reply.weave(calls):
            stream.add(name, fields)
        last = "response.incomplete" if reply.stop_reason in _INCOMPLETE else "response.completed"
        stream.add(last, {"response": _response(reply, answer, items)}, ending=True)
        return stream.events

    def document(self, reply: Reply, answer: Answer) -> Json:
        """Return the response without streaming."""
        return _response(reply, answer, self._items(reply, answer))

    def _items(self, reply: Reply, answer: Answer) -> list[dict[str, Json]]:
        items: list[dict[str, Json]] = []
        if reply.reasoning or reply.hidden_reasoning:
            summary = [{"type": "summary_text", "text": reply.reasoning}] if reply.reasoning else []
            reason: dict[str, Json] = {"id": answer.id("rs_"), "type": "reasoning", "summary": summary}
            if "encrypted" in answer.reading.wants:
                reason["encrypted_content"] = sign("reasoning", reply.reasoning)
            items.append(reason)
        if reply.text or reply.refusal is not None:
            content: dict[str, Json] = (
                {"type": "output_text", "annotations": [], "logprobs": [], "text": reply.text}
                if reply.refusal is None
                else {"type": "refusal", "refusal": reply.refusal}
            )
            status = "incomplete" if reply.stop_reason in _INCOMPLETE else "completed"
            message: dict[str, Json] = {"id": answer.id("msg_"), "type": "message", "status": status}
            items.append({**message, "content": [content], "role": "assistant"})
        for at, call in enumerate(reply.tool_calls):
            item: dict[str, Json] = {
                "id": answer.id("fc_", at),
                "type": "function_call",
                "status": "completed",
            }
            item["arguments"] = call.arguments_text()
            item["call_id"] = answer.id("call_", at) if call.id is None else call.id
            items.append({**item, "name": call.name})
        if items and items[0]["type"] == "reasoning" and len(items) > 1:
            self._reasons[str(items[1]["id"])] = str(items[0]["id"])
        return items

    def problem(self, kind: ProblemKind, message: str | None = None) -> Problem:
        """Return OpenAI's error for a kind of problem."""
        return openai_error.problem(kind, message)

    def error_body(self, problem: Problem) -> Json:
        """Return the body of an error response."""
        return {"error": openai_error.error_table(problem)}

    def error_event(self, problem: Problem, *, as_turn: bool) -> ServerEvent:
        """Return the error as a stream event."""
        code = problem.code if problem.code in _ERROR_CODES else "server_error"
        error: dict[str, Json] = {"code": code, "message": problem.message}
        if as_turn:
            response: dict[str, Json] = {
                "object": "response",
                "status": "failed",
                "output": [],
                "usage": None,
            }
            fields: dict[str, Json] = {"sequence_number": 3, "response": {**response, "error": error}}
            return ServerEvent(encode({"type": "response.failed", **fields}), "response.failed")
        return ServerEvent(encode({"type": "error", "sequence_number": 3, **error, "param": None}), "error")


class _Stream:
    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self.events: list[ServerEvent] = []

    def add(self, name: str, fields: Mapping[str, Json], *, ending: bool = False) -> None:
        noise = {"obfuscation": "Qz71b"[: 1 + len(self.events) % 5]} if name.endswith(".delta") else {}
        data = encode({"type": name, "sequence_number": len(self.events), **fields, **noise})
        self.events.append(ServerEvent(data, name, ending))

    def add_reasoning(self, at: int, item: dict[str, Json]) -> None:
        self.add("response.output_item.added", {"output_index": at, "item": {**item, "summary": []}})
        if text := self._reply.reasoning:
            where: dict[str, Json] = {"item_id": item["id"], "output_index": at, "summary_index": 0}
            part = {"type": "summary_text", "text": text}
            self.add("response.reasoning_summary_part.added", {**where, "part": {**part, "text": ""}})
            for piece in self._reply.pieces(text):
                self.add("response.reasoning_summary_text.delta", {**where, "delta": piece})
            self.add("response.reasoning_summary_text.done", {**where, "text": text})
            self.add("response.reasoning_summary_part.done", {**where, "part": part})
        self.add("response.output_item.done", {"output_index": at, "item": item})

    def add_message(self, at: int, item: dict[str, Json]) -> None:
        refusal = self._reply.refusal
        kind, field = ("output_text", "text") if refusal is None else ("refusal", "refusal")
        text = self._reply.text if refusal is None else refusal
        full: dict[str, Json] = {"type": kind, field: text}
        logs: dict[str, Json] = {}
        if refusal is None:
            logs = {"logprobs": []}
            full |= {"annotations": [], **logs}
        where: dict[str, Json] = {"item_id": item["id"], "output_index": at, "content_index": 0}
        begun: dict[str, Json] = {**item, "status": "in_progress", "content": []}
        self.add("response.output_item.added", {"output_index": at, "item": begun})
        self.add("response.content_part.added", {**where, "part": {**full, field: ""}})
        for piece in self._reply.pieces(text):
            self.add(f"response.{kind}.delta", {**where, "delta": piece, **logs})
        self.add(f"response.{kind}.done", {**where, field: text, **logs})
        self.add("response.content_part.done", {**where, "part": full})
        self.add("response.output_item.done", {"output_index": at, "item": item})


def _call_events(at: int, item: dict[str, Json], reply: Reply) -> list[tuple[str, dict[str, Json]]]:
    where: dict[str, Json] = {"item_id": item["id"], "output_index": at}
    begun = {**item, "status": "in_progress", "arguments": ""}
    arguments = str(item["arguments"])
    return [
        ("response.output_item.added", {"output_index": at, "item": begun}),
        *(
            ("response.function_call_arguments.delta", {**where, "delta": piece})
            for piece in reply.pieces(arguments)
        ),
        ("response.function_call_arguments.done", {**where, "arguments": arguments}),
        ("response.output_item.done", {"output_index": at, "item": item}),
    ]


def _response(reply: Reply, answer: Answer, items: list[dict[str, Json]]) -> dict[str, Json]:
    reason = _INCOMPLETE.get(reply.stop_reason)
    return {
        "id": answer.id("resp_"),
        "object": "response",
        "created_at": 1_767_225_600,
        "status": "incomplete" if reason else "completed",
        "background": False,
        "completed_at": 1_767_225_601,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": answer.reading.system or None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "model": answer.reading.model,
        "output": items,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "prompt_cache_key": None,
        "reasoning": {"effort": "medium", "summary": "detailed"},
        "safety_identifier": None,
        "service_tier": "default",
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": _usage(reply.tokens),
        "user": None,
        "metadata": {},
    }


def _usage(tokens: Usage) -> dict[str, Json]:
    return {
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.total,
    }
