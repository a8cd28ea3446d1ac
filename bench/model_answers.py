"""The two answers of the benchmark's model in both OpenAI wire formats, as lists of server-sent events.

The first turn asks for `add(a=2, b=3)` in several chunks; the second says N tokens, one event a token.
"""

import json
from collections.abc import Iterator

MODEL = "gpt-4o-mini"
CREATED = 1_763_000_000
CALL_ID = "call_bench0001"
ARGUMENTS = ('{"', "a", '":', "2", ',"b":', "3", "}")

CHAT_USAGE = {
    "prompt_tokens": 50,
    "completion_tokens": 200,
    "total_tokens": 250,
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 0,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}
RESPONSES_USAGE = {
    "input_tokens": 50,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 200,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 250,
}
TOOL = {
    "type": "function",
    "name": "add",
    "description": "Add two numbers.",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
    "strict": True,
}

Event = dict[str, object]


def answer_tokens(count: int) -> list[str]:
    return [f" word{index % 100}" for index in range(count)]


def answer_text(count: int) -> str:
    return "".join(answer_tokens(count))


def chat_tool_call() -> list[bytes]:
    function = {"name": "add", "arguments": ""}
    call = {"index": 0, "id": CALL_ID, "type": "function", "function": function}
    deltas: list[Event] = [{"role": "assistant", "content": None, "tool_calls": [call], "refusal": None}]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": part}}]} for part in ARGUMENTS]
    return _chat_events(deltas, "tool_calls")


def chat_answer(count: int) -> list[bytes]:
    deltas: list[Event] = [{"role": "assistant", "content": "", "refusal": None}]
    deltas += [{"content": token} for token in answer_tokens(count)]
    return _chat_events(deltas, "stop")


def responses_tool_call() -> list[bytes]:
    item: Event = {
        "id": "fc_bench0001",
        "type": "function_call",
        "status": "in_progress",
        "arguments": "",
        "call_id": CALL_ID,
        "name": "add",
    }
    arguments = "".join(ARGUMENTS)
    at = {"item_id": item["id"], "output_index": 0}

    def inner() -> Iterator[tuple[str, Event]]:
        yield "output_item.added", {"output_index": 0, "item": item}
        for part in ARGUMENTS:
            yield "function_call_arguments.delta", {**at, "delta": part, "obfuscation": "abcdefgh"}
        yield "function_call_arguments.done", {**at, "name": "add", "arguments": arguments}

    return _responses_events(inner(), {**item, "status": "completed", "arguments": arguments})


def responses_answer(count: int) -> list[bytes]:
    item: Event = {
        "id": "msg_bench0001",
        "type": "message",
        "status": "in_progress",
        "content": [],
        "role": "assistant",
    }
    empty: Event = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    part = {**empty, "text": answer_text(count)}
    at = {"item_id": item["id"], "output_index": 0, "content_index": 0}

    def inner() -> Iterator[tuple[str, Event]]:
        yield "output_item.added", {"output_index": 0, "item": item}
        yield "content_part.added", {**at, "part": empty}
        for token in answer_tokens(count):
            yield "output_text.delta", {**at, "delta": token, "logprobs": [], "obfuscation": "abcdefgh"}
        yield "output_text.done", {**at, "text": part["text"], "logprobs": []}
        yield "content_part.done", {**at, "part": part}

    return _responses_events(inner(), {**item, "status": "completed", "content": [part]})


def _chat_events(deltas: list[Event], finish_reason: str) -> list[bytes]:
    chunks = [_chat_chunk([_choice(delta, None)], None) for delta in deltas]
    chunks += [_chat_chunk([_choice({}, finish_reason)], None), _chat_chunk([], CHAT_USAGE)]
    return [b"data: %s\n\n" % _json(chunk) for chunk in chunks] + [b"data: [DONE]\n\n"]


def _choice(delta: Event, finish_reason: str | None) -> Event:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _chat_chunk(choices: list[Event], usage: Event | None) -> Event:
    return {
        "id": "chatcmpl-bench0001",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": MODEL,
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
        "choices": choices,
        "usage": usage,
    }


def _responses_events(inner: Iterator[tuple[str, Event]], done: Event) -> list[bytes]:
    begun = {"response": _response("in_progress", [], None)}
    events: list[tuple[str, Event]] = [("created", begun), ("in_progress", begun), *inner]
    events.append(("output_item.done", {"output_index": 0, "item": done}))
    events.append(("completed", {"response": _response("completed", [done], RESPONSES_USAGE)}))
    return [
        b"event: response.%s\ndata: %s\n\n"
        % (name.encode(), _json({"type": f"response.{name}", "sequence_number": number, **body}))
        for number, (name, body) in enumerate(events)
    ]


def _response(status: str, output: list[Event], usage: Event | None) -> Event:
    return {
        "id": "resp_bench0001",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "model": MODEL,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [TOOL],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "user": None,
    }


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
