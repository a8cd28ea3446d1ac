"""What each service may stream, and what becomes of it."""

from collections.abc import Callable, Sequence

import msgspec
import pytest

from agio.core.model import (
    ModelEvent,
    PartialUsage,
    ReasoningDelta,
    TextDelta,
    ToolCallBegin,
    ToolCallDelta,
    ToolCallDone,
    TurnEnd,
    Usage,
    VendorTurn,
)
from agio.drivers.anthropic_turn import AnthropicTurn
from agio.drivers.faults import Faults
from agio.drivers.gemini_turn import GeminiTurn
from agio.drivers.http import TurnDecoder
from agio.drivers.kept import LIMIT_BYTES
from agio.drivers.openai_chat_turn import ChatTurn
from agio.drivers.openai_responses_turn import ResponsesTurn
from agio.errors import LimitExceeded, ModelError
from agio.protocol.messages import Json, json_object

FAULTS = Faults("model.test", [])


def read(turn: TurnDecoder, events: Sequence[object]) -> list[ModelEvent]:
    """Feed the events one read each; a turn that does not end by itself is closed. What it used is in its end."""
    return [event for event in read_all(turn, events) if not isinstance(event, PartialUsage)]


def read_all(turn: TurnDecoder, events: Sequence[object]) -> list[ModelEvent]:
    """Feed the events, and also return what is told of the usage on the way."""
    out: list[ModelEvent] = []
    for event in events:
        out += turn.read([event if isinstance(event, bytes) else msgspec.json.encode(event)])
    if not turn.ended:
        out += turn.close()
    return out


def end_of(events: list[ModelEvent]) -> TurnEnd:
    assert isinstance(events[-1], TurnEnd)
    return events[-1]


def calls_of(events: list[ModelEvent]) -> dict[int, tuple[str, str]]:
    """Return name and arguments of each call, and check that each begins in order and is closed once."""
    begun = [event for event in events if isinstance(event, ToolCallBegin)]
    assert [event.index for event in begun] == list(range(len(begun)))
    assert sorted(event.index for event in events if isinstance(event, ToolCallDone)) == list(
        range(len(begun))
    )
    return {
        begin.index: (
            begin.name,
            "".join(
                event.arguments
                for event in events
                if isinstance(event, ToolCallDelta) and event.index == begin.index
            ),
        )
        for begin in begun
    }


def delta(finish: str | None = None, **fields: object) -> Json:
    return {"id": "x", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}], "usage": None}


def piece(index: int | None, call_id: str | None, name: str | None, arguments: str | None) -> Json:
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}


DONE = b"[DONE]"


def test_chat_text_reasoning_and_usage() -> None:
    """L3: text and reasoning stream, empty and usage-only chunks are fine, usage has its details."""
    events = read(
        ChatTurn(FAULTS),
        [
            {"choices": None},
            delta(role="assistant", content="", tool_calls=None, refusal=None),
            delta(reasoning_content="hm"),
            delta(reasoning="so"),
            delta(content="Hel"),
            delta(content="lo"),
            delta("stop"),
            {
                "choices": [],
                "usage": {
                    "prompt_tokens": 10,
                    "completion_tokens": 5,
                    "prompt_tokens_details": {"cached_tokens": 4},
                    "completion_tokens_details": {"reasoning_tokens": 2},
                },
            },
            DONE,
        ],
    )
    assert events == [
        ReasoningDelta("hm"),
        ReasoningDelta("so"),
        TextDelta("Hel"),
        TextDelta("lo"),
        TurnEnd(
            "end",
            Usage(input=10, output=5, cached=4, reasoning=2),
            VendorTurn("openai-chat", [{"role": "assistant", "content": "Hello"}]),
        ),
    ]


def test_chat_usage_of_groq_is_in_a_field_of_its_own() -> None:
    """L12: Groq names the request in its first chunk's `x_groq` and the usage in the last one's."""
    used = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "queue_time": 0.03}
    last = {**json_object(delta("stop")), "x_groq": {"id": "req_1", "usage": used}}
    first = {**json_object(delta(content="Hello")), "x_groq": {"id": "req_1"}}
    events = read_all(ChatTurn(FAULTS), [first, last, DONE])
    assert events[1] == PartialUsage(Usage(input=10, output=5))
    assert end_of(events).usage == Usage(input=10, output=5)


def test_chat_calls_interleave_and_may_share_an_id() -> None:
    """L3: calls are told apart by index; the name may come in pieces or again and again."""
    events = read(
        ChatTurn(FAULTS),
        [
            delta(tool_calls=[piece(0, "same", "wea", ""), piece(1, "same", "time", None)]),
            delta(tool_calls=[piece(1, None, "time", '{"z"')]),
            delta(tool_calls=[piece(0, "same", "ther", None), piece(0, None, None, '{"city":')]),
            delta(tool_calls=[piece(1, None, "time", ":1}"), piece(0, None, None, '"Rome"}')]),
            delta("stop"),
            DONE,
        ],
    )
    assert calls_of(events) == {0: ("weather", '{"city":"Rome"}'), 1: ("time", '{"z":1}')}
    end = end_of(events)
    assert end.stop == "tool_calls"
    assert end.vendor.items == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "same",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city":"Rome"}'},
                },
                {"id": "same", "type": "function", "function": {"name": "time", "arguments": '{"z":1}'}},
            ],
        }
    ]


@pytest.mark.parametrize(
    "pieces",
    [
        [piece(0, "a", "f", "{}"), piece(0, "b", "g", "{}")],
        [piece(None, "a", "f", "{}"), piece(None, "b", "g", "{}")],
        [piece(None, "a", "f", ""), piece(None, None, None, "{}"), piece(None, "b", "g", "{}")],
        [piece(0, None, "f", None), piece(1, None, "g", None)],
        [piece(3, "", "f", "{}"), piece(5, "", "g", "{}")],
    ],
)
def test_chat_calls_are_counted_by_us_whatever_the_service_counts(pieces: list[Json]) -> None:
    """L3: every call index 0, no index, no id, no arguments, odd indexes: two calls all the same."""
    events = read(
        ChatTurn(FAULTS), [delta(tool_calls=[each]) for each in pieces] + [delta("tool_calls"), DONE]
    )
    assert calls_of(events) == {0: ("f", "{}"), 1: ("g", "{}")}


def test_chat_keeps_what_compatible_services_want_back() -> None:
    """R12: reasoning beside tool calls, OpenRouter's reasoning details, Gemini's signatures in extra content."""
    signed = {**msgspec.convert(piece(0, "a", "f", '{"half'), dict[str, Json]), "extra_content": {"g": "sig"}}
    events = read(
        ChatTurn(FAULTS),
        [
            delta(reasoning_content="think", reasoning_details=[{"type": "t", "index": 0, "text": "a"}]),
            delta(reasoning_details=[{"type": "t", "index": 0, "text": "b", "signature": "s"}]),
            delta(reasoning_details=[{"type": "e", "index": 1, "data": "c"}]),
            delta(tool_calls=[signed]),
            delta("tool_calls"),
        ],
    )
    assert end_of(events).vendor.items == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "f", "arguments": "{}"},
                    "extra_content": {"g": "sig"},
                }
            ],
            "reasoning_content": "think",
            "reasoning_details": [
                {"type": "t", "index": 0, "text": "ab", "signature": "s"},
                {"type": "e", "index": 1, "data": "c"},
            ],
        }
    ]


def test_chat_content_may_come_as_pieces() -> None:
    """R12: Mistral's reasoning models stream content as a list."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    events = read(
        ChatTurn(FAULTS), [delta(content=[thinking, {"type": "text", "text": "yes"}]), delta("stop")]
    )
    assert events[:2] == [ReasoningDelta("hm"), TextDelta("yes")]


def test_chat_refusal_is_text_that_ends_as_refusal() -> None:
    """L3: the person reads why, the loop knows what it was."""
    events = read(ChatTurn(FAULTS), [delta(refusal="I can"), delta(refusal="not."), delta("stop"), DONE])
    assert events[:2] == [TextDelta("I can"), TextDelta("not.")]
    assert end_of(events).stop == "refusal"
    assert end_of(events).vendor.items == [{"role": "assistant", "content": None, "refusal": "I cannot."}]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("stop", "end"), ("length", "length"), ("content_filter", "content_filter"), ("eos", "end")],
)
def test_chat_finish_reasons(reason: str, stop: str) -> None:
    """L3: every finish reason has its stop reason."""
    assert end_of(read(ChatTurn(FAULTS), [delta(reason, content="x"), DONE])).stop == stop


def test_a_call_without_a_name_is_an_invalid_response() -> None:
    """L13: nonsense is told as nonsense, by every driver."""
    nameless: list[tuple[TurnDecoder, list[Json]]] = [
        (ChatTurn(FAULTS), [delta(tool_calls=[piece(0, "a", None, "{}")]), delta("stop")]),
        (
            ResponsesTurn(FAULTS),
            [{"type": "response.output_item.added", "item": {"type": "function_call"}}],
        ),
        (AnthropicTurn(FAULTS), [{"type": "content_block_start", "content_block": {"type": "tool_use"}}]),
        (GeminiTurn(FAULTS), [{"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]}]),
    ]
    for turn, events in nameless:
        with pytest.raises(ModelError) as caught:
            read(turn, events)
        assert caught.value.code == "invalid_response"


def test_responses_text_reasoning_calls_and_usage() -> None:
    """L3: summaries are reasoning, items come back as they were, unknown events are ignored."""
    reasoning: Json = {"type": "reasoning", "id": "rs", "encrypted_content": "enc", "summary": []}
    message: Json = {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}
    function: Json = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'}
    events = read(
        ResponsesTurn(FAULTS),
        [
            {"type": "response.created", "response": {"status": "in_progress", "usage": None}},
            {"type": "response.reasoning_summary_part.added", "summary_index": 0},
            {"type": "response.reasoning_summary_text.delta", "delta": "one"},
            {"type": "response.reasoning_summary_part.added", "summary_index": 1},
            {"type": "response.reasoning_summary_text.delta", "delta": "two"},
            {"type": "response.output_item.done", "output_index": 0, "item": reasoning},
            {"type": "response.something.new", "delta": {"not": "text"}},
            {"type": "response.output_text.delta", "output_index": 1, "delta": "Hel"},
            {"type": "response.output_text.delta", "output_index": 1, "delta": "lo"},
            {"type": "response.output_item.done", "output_index": 1, "item": message},
            {
                "type": "response.output_item.added",
                "output_index": 2,
                "item": {"type": "function_call", "name": "f", "arguments": ""},
            },
            {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '{"a"'},
            {"type": "response.function_call_arguments.done", "output_index": 2, "arguments": '{"a":1}'},
            {"type": "response.output_item.done", "output_index": 2, "item": function},
            {
                "type": "response.completed",
                "response": {
                    "output": [reasoning, message, function],
                    "usage": {
                        "input_tokens": 9,
                        "output_tokens": 8,
                        "input_tokens_details": {"cached_tokens": 7},
                        "output_tokens_details": {"reasoning_tokens": 6},
                    },
                },
            },
        ],
    )
    assert events == [
        ReasoningDelta("one"),
        ReasoningDelta("\n\n"),
        ReasoningDelta("two"),
        TextDelta("Hel"),
        TextDelta("lo"),
        ToolCallBegin(0, "f"),
        ToolCallDelta(0, '{"a"'),
        ToolCallDelta(0, ":1}"),
        ToolCallDone(0),
        TurnEnd(
            "tool_calls",
            Usage(input=9, output=8, cached=7, reasoning=6),
            VendorTurn("openai", [reasoning, message, function]),
        ),
    ]


def test_responses_that_come_only_whole_are_said_then() -> None:
    """L3: arguments and text may come with the item, or with the response alone."""
    items: list[Json] = [
        {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'},
        {"type": "function_call", "call_id": "c", "name": "g", "arguments": '{"half'},
    ]
    by_item = [
        {"type": "response.output_item.done", "output_index": index, "item": item}
        for index, item in enumerate(items)
    ]
    for events in (
        read(ResponsesTurn(FAULTS), [*by_item, {"type": "response.completed", "response": {}}]),
        read(ResponsesTurn(FAULTS), [{"type": "response.completed", "response": {"output": items}}]),
    ):
        assert events[0] == TextDelta("Hi")
        assert calls_of(events) == {0: ("f", '{"a":1}'), 1: ("g", '{"half')}
        returned = msgspec.convert(end_of(events).vendor.items[2], dict[str, Json])
        assert returned["arguments"] == "{}"


@pytest.mark.parametrize(
    ("event", "stop"),
    [
        ({"type": "response.completed", "response": {}}, "refusal"),
        (
            {
                "type": "response.incomplete",
                "response": {"incomplete_details": {"reason": "max_output_tokens"}},
            },
            "length",
        ),
        (
            {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "content_filter"}}},
            "content_filter",
        ),
    ],
)
def test_responses_refusals_and_incomplete_ends(event: Json, stop: str) -> None:
    """L3: a refusal streams as text; an incomplete response says why."""
    refusal: Json = {"type": "response.refusal.delta", "delta": "No."}
    events = read(ResponsesTurn(FAULTS), [refusal, event])
    assert events[0] == TextDelta("No.")
    assert end_of(events).stop == stop


def test_responses_does_not_return_reasoning_nobody_can_find_again() -> None:
    """L3: without encrypted content a reasoning item is only an id, and nothing is stored."""
    bare: Json = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": None}
    events = read(ResponsesTurn(FAULTS), [{"type": "response.completed", "response": {"output": [bare]}}])
    assert end_of(events).vendor.items == []


def test_reasoning_that_nothing_follows_is_not_returned() -> None:
    """L3: a turn cut while it reasons leaves nothing a vendor would refuse in the next request."""
    cut: list[tuple[TurnDecoder, list[object]]] = [
        (ChatTurn(FAULTS), [delta(reasoning_content="So much"), delta("length"), DONE]),
        (
            ResponsesTurn(FAULTS),
            [
                {
                    "type": "response.completed",
                    "response": {
                        "status": "incomplete",
                        "output": [{"type": "reasoning", "encrypted_content": "x"}],
                    },
                }
            ],
        ),
        (
            AnthropicTurn(FAULTS),
            [
                block(0, type="thinking", thinking="So much"),
                {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
                {"type": "message_stop"},
            ],
        ),
    ]
    for turn, events in cut:
        end = end_of(read(turn, events))
        assert (end.stop, end.vendor.items) == ("length", [])


def block(index: int, **fields: Json) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": fields}


def block_delta(index: int, **fields: Json) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def test_anthropic_thinking_text_calls_and_usage() -> None:
    """L3: blocks come back whole with signatures; input counts what was read from and written to the cache."""
    events = read(
        AnthropicTurn(FAULTS),
        [
            {
                "type": "message_start",
                "message": {
                    "usage": {
                        "input_tokens": 3,
                        "cache_read_input_tokens": 10,
                        "cache_creation_input_tokens": 20,
                        "output_tokens": 1,
                    }
                },
            },
            {"type": "ping"},
            block(0, type="thinking", thinking="", signature=""),
            block_delta(0, type="thinking_delta", thinking="hm"),
            block_delta(0, type="signature_delta", signature="sig"),
            {"type": "content_block_stop", "index": 0},
            block(1, type="redacted_thinking", data="zzz"),
            block(2, type="text", text=""),
            block_delta(2, type="text_delta", text="Hel"),
            block_delta(2, type="text_delta", text="lo"),
            {"type": "content_block_stop", "index": 2},
            block(3, type="text", text=""),
            block(4, type="tool_use", id="same", name="f", input={}),
            block(5, type="tool_use", id="same", name="g", input={}),
            block_delta(4, type="input_json_delta", partial_json=""),
            block_delta(4, type="input_json_delta", partial_json='{"a":'),
            block_delta(5, type="input_json_delta", partial_json='{"ha'),
            block_delta(4, type="input_json_delta", partial_json="1}"),
            {"type": "content_block_stop", "index": 4},
            {"type": "content_block_stop", "index": 5},
            block(6, type="tool_use", id="t", name="h"),
            {"type": "content_block_stop", "index": 6},
            {"type": "something_new"},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": 30, "output_tokens_details": {"thinking_tokens": 9}},
            },
            {"type": "message_stop"},
        ],
    )
    assert events[:3] == [ReasoningDelta("hm"), TextDelta("Hel"), TextDelta("lo")]
    assert calls_of(events) == {0: ("f", '{"a":1}'), 1: ("g", '{"ha'), 2: ("h", "{}")}
    assert end_of(events) == TurnEnd(
        "tool_calls",
        Usage(input=33, output=30, cached=10, reasoning=9, cache_write=20),
        VendorTurn(
            "anthropic",
            [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "redacted_thinking", "data": "zzz"},
                {"type": "text", "text": "Hello"},
                {"type": "tool_use", "id": "same", "name": "f", "input": {"a": 1}},
                {"type": "tool_use", "id": "same", "name": "g", "input": {}},
                {"type": "tool_use", "id": "t", "name": "h", "input": {}},
            ],
        ),
    )


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "end"),
    ],
)
def test_anthropic_stop_reasons(reason: str, stop: str) -> None:
    """L3: every stop reason of Anthropic has ours; a silent refusal says its explanation."""
    details = {"type": "refusal", "explanation": "I will not."} if reason == "refusal" else None
    change: Json = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_details": details}}
    events = read(AnthropicTurn(FAULTS), [change, {"type": "message_stop"}])
    assert end_of(events).stop == stop
    assert (TextDelta("I will not.") in events) == (reason == "refusal")


def test_anthropic_without_its_last_event_has_not_ended() -> None:
    """L13: a message without message_stop is broken."""
    turn = AnthropicTurn(FAULTS)
    read(turn, [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}])
    assert not turn.ended


def chunk(*parts: Json, finish: str | None = None, **more: Json) -> Json:
    return {
        "candidates": [{"content": {"parts": list(parts), "role": "model"}, "finishReason": finish}],
        **more,
    }


def test_gemini_thoughts_text_calls_and_usage() -> None:
    """L3: text is joined, a part with a signature stays alone, output counts the thoughts."""
    events = read(
        GeminiTurn(FAULTS),
        [
            {"candidates": None, "usageMetadata": {"promptTokenCount": 1}},
            chunk({"text": "h", "thought": True}),
            chunk({"text": "m", "thought": True}),
            chunk({"text": "Hel"}),
            chunk({"text": "lo"}, {"text": "!", "thoughtSignature": "s1"}),
            chunk({"functionCall": {"name": "f", "args": {"a": "ä"}}, "thoughtSignature": "s2"}),
            chunk({"functionCall": {"name": "g", "args": None, "id": "g1"}}),
            chunk({"executableCode": {"code": "1"}}),
            chunk(
                {"text": "", "thoughtSignature": "s3"},
                finish="STOP",
                usageMetadata={
                    "promptTokenCount": 10,
                    "candidatesTokenCount": 5,
                    "thoughtsTokenCount": 3,
                    "cachedContentTokenCount": 2,
                    "toolUsePromptTokenCount": None,
                },
            ),
        ],
    )
    assert events[:5] == [ReasoningDelta("h"), ReasoningDelta("m"), *map(TextDelta, ("Hel", "lo", "!"))]
    assert calls_of(events) == {0: ("f", '{"a":"ä"}'), 1: ("g", "{}")}
    assert end_of(events) == TurnEnd(
        "tool_calls",
        Usage(input=10, output=8, cached=2, reasoning=3),
        VendorTurn(
            "gemini",
            [
                {"text": "hm", "thought": True},
                {"text": "Hello"},
                {"text": "!", "thoughtSignature": "s1"},
                {"functionCall": {"name": "f", "args": {"a": "ä"}}, "thoughtSignature": "s2"},
                {"functionCall": {"name": "g", "args": {}, "id": "g1"}},
                {"executableCode": {"code": "1"}},
                {"text": "", "thoughtSignature": "s3"},
            ],
        ),
    )


@pytest.mark.parametrize(
    ("last", "stop"),
    [
        (chunk(finish="STOP"), "end"),
        (chunk(finish="MAX_TOKENS"), "length"),
        (chunk(finish="SAFETY"), "content_filter"),
        (chunk(finish="PROHIBITED_CONTENT"), "content_filter"),
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "content_filter"),
        ({"candidates": [{"finishReason": "STOP"}]}, "end"),
    ],
)
def test_gemini_finish_reasons(last: Json, stop: str) -> None:
    """L3: every finish reason of Gemini has ours, a blocked prompt included."""
    assert end_of(read(GeminiTurn(FAULTS), [last])).stop == stop


def test_gemini_without_a_finish_reason_has_not_ended() -> None:
    """L13: a stream that just stops is broken."""
    turn = GeminiTurn(FAULTS)
    read(turn, [chunk({"text": "and then"})])
    assert not turn.ended


def test_usage_is_told_as_soon_as_it_is_known() -> None:
    """L12: Anthropic says the input first, Gemini counts along, some services that speak chat do too."""
    counted = {"input_tokens": 3, "cache_read_input_tokens": 10, "output_tokens": 1}
    started = {"type": "message_start", "message": {"usage": counted}}
    assert AnthropicTurn(FAULTS).read([msgspec.json.encode(started)]) == [
        PartialUsage(Usage(input=13, output=1, cached=10))
    ]
    assert AnthropicTurn(FAULTS).read([b'{"type": "message_start", "message": {}}']) == []
    counts = {"promptTokenCount": 7, "candidatesTokenCount": 2}
    assert GeminiTurn(FAULTS).read([msgspec.json.encode(chunk({"text": "a"}, usageMetadata=counts))]) == [
        PartialUsage(Usage(input=7, output=2)),
        TextDelta("a"),
    ]
    piece = {**json_object(delta(content="a")), "usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    assert ChatTurn(FAULTS).read([msgspec.json.encode(piece)]) == [
        TextDelta("a"),
        PartialUsage(Usage(input=5, output=1)),
    ]


BLOB = "x" * 100_000
UNSAID: list[tuple[Callable[[Faults], TurnDecoder], list[Json], Json]] = [
    (ChatTurn, [], delta(reasoning_details=[{"type": "reasoning.encrypted", "data": BLOB}])),
    (
        ChatTurn,
        [delta(tool_calls=[piece(0, "a", None, None)])],
        delta(tool_calls=[piece(1, "b", "add", BLOB)]),
    ),
    (
        ResponsesTurn,
        [],
        {"type": "response.output_item.done", "item": {"type": "reasoning", "summary": BLOB}},
    ),
    (
        AnthropicTurn,
        [{"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}}],
        {"type": "content_block_delta", "index": 0, "delta": {"signature": BLOB}},
    ),
    (GeminiTurn, [], {"candidates": [{"content": {"parts": [{"text": "", "thoughtSignature": BLOB}]}}]}),
]


@pytest.mark.parametrize(("decoder", "opening", "again"), UNSAID)
def test_what_a_turn_keeps_and_does_not_say_is_bounded(
    decoder: Callable[[Faults], TurnDecoder], opening: list[Json], again: Json
) -> None:
    """L6: `turn_too_large` for what only the vendor can read, and for a call that waits for another's name."""
    with pytest.raises(LimitExceeded) as refused:
        read(decoder(FAULTS), [*opening, *[again] * (LIMIT_BYTES // len(BLOB) + 1)])
    assert refused.value.code == "turn_too_large"
