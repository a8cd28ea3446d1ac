"""One rich conversation, as each of the four services is asked."""

import re
from base64 import b64encode
from collections.abc import Callable
from typing import TypeAlias, cast

import pytest

from agio.core.model import ModelRequest, ModelSettings, OutputSpec, ToolSpec, VendorTurn
from agio.drivers import anthropic, gemini, openai_chat, openai_responses
from agio.drivers.body import close_objects, deep_merge, encode_body, is_strict
from agio.protocol.messages import (
    ActivityMessage,
    AssistantMessage,
    AudioPart,
    DataSource,
    DeveloperMessage,
    DocumentPart,
    FileSource,
    FunctionCall,
    ImagePart,
    Json,
    Message,
    ReasoningMessage,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UrlSource,
    UserMessage,
)

PNG = DataSource(value="iVBO", mime_type="image/png")
NOTES = DataSource(value=b64encode(b"buy milk").decode(), mime_type="text/plain")
SCHEMA: dict[str, Json] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CLOSED: dict[str, Json] = {**SCHEMA, "additionalProperties": False}
TOOL = ToolSpec("weather", "Tells the weather.", SCHEMA)
EPHEMERAL = {"cache_control": {"type": "ephemeral"}}


def call(own_id: str, arguments: str = '{"city":"Rome"}', name: str = "weather") -> ToolCall:
    return ToolCall(id=own_id, function=FunctionCall(name=name, arguments=arguments))


HISTORY: list[Message] = [
    SystemMessage(id="s", content="Stay calm."),
    DeveloperMessage(id="d", content="Use metres."),
    UserMessage(
        id="u1",
        content=[
            TextPart(text="Look:"),
            TextPart(text=""),
            ImagePart(source=PNG),
            ImagePart(source=UrlSource(value="https://x.test/a.jpg")),
            DocumentPart(source=NOTES),
            AudioPart(source=DataSource(value="UklG", mime_type="audio/wav")),
        ],
    ),
    ReasoningMessage(id="r", content="I should ask two tools."),
    ActivityMessage(id="act", activity_type="plan", content={}),
    AssistantMessage(id="a1", content="Let me see.", tool_calls=[call("call_1"), call("call_2", '{"ci')]),
    ToolMessage(id="t2", tool_call_id="call_2", content="", error="no such city"),
    ToolMessage(id="t1", tool_call_id="call_1", content=[TextPart(text="sunny"), ImagePart(source=PNG)]),
    AssistantMessage(id="a2", content=""),
    UserMessage(id="u2", content="Thanks."),
    UserMessage(id="u3", content="And now?"),
]


def request(messages: list[Message] = HISTORY, **vendor: VendorTurn) -> ModelRequest:
    return ModelRequest("some-model", "Be brief.", messages, vendor, [TOOL])


def test_chat_sends_the_whole_conversation() -> None:
    """L3: system, images, calls and results as Chat Completions wants them; images of a result follow it."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}
    body = openai_chat.build_body(request())
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "system", "content": "Stay calm."},
        {"role": "developer", "content": "Use metres."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look:"},
                image,
                {"type": "image_url", "image_url": {"url": "https://x.test/a.jpg"}},
                {"type": "text", "text": "[document, text/plain]\nbuy milk"},
                {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
            ],
        },
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city":"Rome"}'},
                },
                {"id": "call_2", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
        {"role": "tool", "tool_call_id": "call_2", "content": "no such city"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Attached to the result of weather:"}, image],
        },
        {"role": "user", "content": "Thanks."},
        {"role": "user", "content": "And now?"},
    ]
    assert body["tools"] == [
        {
            "type": "function",
            "function": {"name": "weather", "description": "Tells the weather.", "parameters": SCHEMA},
        }
    ]
    assert body["stream_options"] == {"include_usage": True}


def test_responses_sends_the_whole_conversation() -> None:
    """L3: the same as input items; a result may carry its image."""
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBO"}
    body = openai_responses.build_body(request())
    assert (body["instructions"], body["store"]) == ("Be brief.", False)
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["input"] == [
        {"role": "system", "content": "Stay calm."},
        {"role": "developer", "content": "Use metres."},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look:"},
                image,
                {"type": "input_image", "image_url": "https://x.test/a.jpg"},
                {"type": "input_text", "text": "[document, text/plain]\nbuy milk"},
                {"type": "input_text", "text": "[audio, audio/wav: left out, the model cannot take it]"},
            ],
        },
        {"role": "assistant", "content": "Let me see."},
        {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city":"Rome"}'},
        {"type": "function_call", "call_id": "call_2", "name": "weather", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": [{"type": "input_text", "text": "sunny"}, image],
        },
        {"type": "function_call_output", "call_id": "call_2", "output": "no such city"},
        {"role": "user", "content": "Thanks."},
        {"role": "user", "content": "And now?"},
    ]
    assert cast(list[dict[str, Json]], body["tools"])[0]["strict"] is False


def test_anthropic_sends_the_whole_conversation() -> None:
    """L3: roles alternate, all results in one user message before anything else, prompt and end cached."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}
    body = anthropic.build_body(request())
    assert body["max_tokens"] == 8192
    assert body["system"] == [{"type": "text", "text": "Be brief.", **EPHEMERAL}]
    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "[system] Stay calm."},
                {"type": "text", "text": "[developer] Use metres."},
                {"type": "text", "text": "Look:"},
                image,
                {"type": "image", "source": {"type": "url", "url": "https://x.test/a.jpg"}},
                {"type": "text", "text": "[document, text/plain]\nbuy milk"},
                {"type": "text", "text": "[audio, audio/wav: left out, the model cannot take it]"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Rome"}},
                {"type": "tool_use", "id": "call_2", "name": "weather", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "call_1",
                    "content": [{"type": "text", "text": "sunny"}, image],
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "call_2",
                    "content": [{"type": "text", "text": "no such city"}],
                    "is_error": True,
                },
                {"type": "text", "text": "Thanks."},
                {"type": "text", "text": "And now?", **EPHEMERAL},
            ],
        },
    ]
    assert body["tools"] == [{"name": "weather", "description": "Tells the weather.", "input_schema": SCHEMA}]


@pytest.mark.parametrize(("model", "old"), [("gemini-2.5-flash", True), ("gemini-3-pro", False)])
def test_gemini_sends_the_whole_conversation(model: str, old: bool) -> None:
    """L3: one content with all function responses; calls of other models are marked as such for Gemini 3."""
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}
    first = {"functionCall": {"id": "call_1", "name": "weather", "args": {"city": "Rome"}}}
    sunny: dict[str, Json] = {"id": "call_1", "name": "weather", "response": {"output": "sunny"}}
    body = gemini.build_body(ModelRequest(model, "Be brief.", HISTORY, tools=[TOOL]))
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert body["contents"] == [
        {
            "role": "user",
            "parts": [
                {"text": "[system] Stay calm."},
                {"text": "[developer] Use metres."},
                {"text": "Look:"},
                image,
                {"fileData": {"fileUri": "https://x.test/a.jpg"}},
                {"inlineData": {"mimeType": "text/plain", "data": NOTES.value}},
                {"inlineData": {"mimeType": "audio/wav", "data": "UklG"}},
            ],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Let me see."},
                first if old else {**first, "thoughtSignature": "skip_thought_signature_validator"},
                {"functionCall": {"id": "call_2", "name": "weather", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": sunny if old else {**sunny, "parts": [image]}},
                {
                    "functionResponse": {
                        "id": "call_2",
                        "name": "weather",
                        "response": {"error": "no such city"},
                    }
                },
                *([image] if old else []),
                {"text": "Thanks."},
                {"text": "And now?"},
            ],
        },
    ]
    assert body["tools"] == [
        {
            "functionDeclarations": [
                {"name": "weather", "description": "Tells the weather.", "parametersJsonSchema": SCHEMA}
            ]
        }
    ]


TWO_TURNS: list[Message] = [
    UserMessage(id="u1", content="Go."),
    AssistantMessage(id="a1", content="One.", tool_calls=[call("call_1"), call("call_2")]),
    ToolMessage(id="t1", tool_call_id="call_1", content="1"),
    ToolMessage(id="t2", tool_call_id="call_2", content="2"),
    AssistantMessage(id="a2", tool_calls=[call("call_3")]),
    ToolMessage(id="t3", tool_call_id="call_3", content="3"),
]


def test_chat_returns_its_own_turns_and_rewires_ids_used_twice() -> None:
    """L3: vendor items go back verbatim; an id that is missing or was used becomes ours, in call and result."""

    def turn(*ids: str, **more: Json) -> dict[str, Json]:
        calls = [
            {"id": each, "type": "function", "function": {"name": "w", "arguments": "{}"}} for each in ids
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls, **more}

    kept = turn("same", "same", reasoning_content="hm")
    vendor = {"a1": VendorTurn("openai-chat", [kept]), "a2": VendorTurn("openai-chat", [turn("same")])}
    body = openai_chat.build_body(request(TWO_TURNS, **vendor))
    messages = cast(list[dict[str, Json]], body["messages"])[2:]
    assert messages == [
        turn("same", "call_2", reasoning_content="hm"),
        {"role": "tool", "tool_call_id": "same", "content": "1"},
        {"role": "tool", "tool_call_id": "call_2", "content": "2"},
        turn("call_3"),
        {"role": "tool", "tool_call_id": "call_3", "content": "3"},
    ]
    assert kept == turn("same", "same", reasoning_content="hm"), "the record itself is not touched"


def test_responses_returns_its_own_items_with_encrypted_reasoning() -> None:
    """L3: reasoning items and calls go back verbatim; results carry the vendor's call ids."""
    reasoning: dict[str, Json] = {
        "type": "reasoning",
        "id": "rs_1",
        "encrypted_content": "xyz",
        "summary": [],
    }
    calls: list[dict[str, Json]] = [
        {"type": "function_call", "id": "fc_1", "call_id": "v1", "name": "w", "arguments": "{}"},
        {"type": "function_call", "id": "fc_2", "call_id": "", "name": "w", "arguments": "{}"},
    ]
    body = openai_responses.build_body(request(TWO_TURNS, a1=VendorTurn("openai", [reasoning, *calls])))
    assert cast(list[Json], body["input"])[1:] == [
        reasoning,
        calls[0],
        {**calls[1], "call_id": "call_2"},
        {"type": "function_call_output", "call_id": "v1", "output": "1"},
        {"type": "function_call_output", "call_id": "call_2", "output": "2"},
        {"type": "function_call", "call_id": "call_3", "name": "weather", "arguments": '{"city":"Rome"}'},
        {"type": "function_call_output", "call_id": "call_3", "output": "3"},
    ]


def test_anthropic_returns_its_own_blocks_with_thinking() -> None:
    """L3: thinking with its signature and redacted thinking go back verbatim, before the calls."""
    thinking: list[Json] = [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "zzz"},
    ]
    use: list[Json] = [
        {"type": "tool_use", "id": each, "name": "w", "input": {}} for each in ("toolu_1", "toolu_2")
    ]
    body = anthropic.build_body(request(TWO_TURNS, a1=VendorTurn("anthropic", [*thinking, *use])))
    messages = cast(list[dict[str, Json]], body["messages"])
    assert messages[1] == {"role": "assistant", "content": [*thinking, *use]}
    results = cast(list[dict[str, Json]], messages[2]["content"])
    assert [result["tool_use_id"] for result in results] == ["toolu_1", "toolu_2"]


def test_gemini_returns_its_own_parts_with_signatures_and_gives_ids_where_there_were_none() -> None:
    """L3: thought signatures go back verbatim; calls without ids get ours, in call and response."""
    parts: list[Json] = [
        {"text": "hm", "thought": True},
        {"functionCall": {"name": "w", "args": {}}, "thoughtSignature": "sig"},
        {"functionCall": {"name": "w", "args": {}, "id": "g2"}},
    ]
    body = gemini.build_body(request(TWO_TURNS, a1=VendorTurn("gemini", parts)))
    contents = cast(list[dict[str, Json]], body["contents"])
    assert contents[1]["parts"] == [
        parts[0],
        {"functionCall": {"name": "w", "args": {}, "id": "call_1"}, "thoughtSignature": "sig"},
        parts[2],
    ]
    responses = cast(list[dict[str, dict[str, Json]]], contents[2]["parts"])
    assert [each["functionResponse"]["id"] for each in responses] == ["call_1", "g2"]


Build: TypeAlias = Callable[[ModelRequest], dict[str, Json]]
BUILDERS = [
    (openai_chat.build_body, "messages"),
    (openai_responses.build_body, "input"),
    (anthropic.build_body, "messages"),
    (gemini.build_body, "contents"),
]


@pytest.mark.parametrize(("build", "key"), BUILDERS)
def test_a_turn_of_another_wire_is_rebuilt_from_the_message(build: Build, key: str) -> None:
    """L3: a conversation may change its model; foreign vendor items are never sent."""
    foreign: list[Json] = [{"type": "foreign", "tool_calls": [{"id": "f1"}, {"id": "f2"}]}]
    with_foreign = request(TWO_TURNS, a1=VendorTurn("other", foreign))
    assert build(with_foreign) == build(request(TWO_TURNS))


def test_a_vendor_turn_that_no_longer_fits_its_message_is_rebuilt() -> None:
    """L3: an edited message wins over the record of what the vendor sent."""
    vendor = VendorTurn("anthropic", [{"type": "tool_use", "id": "only-one", "name": "w", "input": {}}])
    assert anthropic.build_body(request(TWO_TURNS, a1=vendor)) == anthropic.build_body(request(TWO_TURNS))


@pytest.mark.parametrize(("build", "key"), BUILDERS)
def test_calls_without_results_and_results_without_calls_come_out_valid(build: Build, key: str) -> None:
    """L3: a cancelled call gets a result that says so, a result whose call was cut away becomes text."""
    messages: list[Message] = [
        ToolMessage(id="t0", tool_call_id="long_gone", content="old news"),
        AssistantMessage(id="a1", tool_calls=[call("call_1")]),
        UserMessage(id="u", content="Well?"),
    ]
    sent = encode_body({"sent": build(request(messages))[key]}, {}).decode()
    assert sent.index("old news") < sent.index("call_1") < sent.index("not finished") < sent.index("Well?")


@pytest.mark.parametrize(
    ("build", "model_role"), [(anthropic.build_body, "assistant"), (gemini.build_body, "model")]
)
def test_a_history_that_begins_with_the_model_gets_a_user_turn_first(build: Build, model_role: str) -> None:
    """L3: Anthropic and Gemini want the user to begin; trimmed history may not."""
    body = build(request([AssistantMessage(id="a", content="Hello"), UserMessage(id="u", content="Hi")]))
    turns = cast(list[dict[str, Json]], body.get("messages") or body["contents"])
    assert [turn["role"] for turn in turns] == ["user", model_role, "user"]


def test_files_kept_at_a_vendor_go_by_their_handle() -> None:
    """L3: a handle is used at its own vendor and named as left out elsewhere."""
    part = DocumentPart(source=FileSource(value="file_1", provider="anthropic"))
    messages: list[Message] = [UserMessage(id="u", content=[part])]
    blocks = cast(list[dict[str, list[dict[str, Json]]]], anthropic.build_body(request(messages))["messages"])
    assert blocks[0]["content"][0]["source"] == {"type": "file", "file_id": "file_1"}
    assert b"left out" in encode_body(openai_chat.build_body(request(messages)), {})


def settled(model: str, settings: ModelSettings, *, output: bool = False, tools: bool = True) -> ModelRequest:
    spec = OutputSpec("answer", CLOSED) if output else None
    return ModelRequest(model, "", TWO_TURNS[:1], {}, [TOOL] if tools else [], spec, settings)


def test_settings_reach_each_service_under_its_own_names() -> None:
    """L3: limits, sampling, tool choice and effort as each vendor spells them; what is None is left out."""
    settings = ModelSettings(0.5, 0.9, 4000, "low", "required", parallel_tool_calls=False)
    chat = openai_chat.build_body(settled("m", settings))
    expected = {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_completion_tokens": 4000,
        "reasoning_effort": "low",
        "tool_choice": "required",
        "parallel_tool_calls": False,
    }
    assert expected.items() <= chat.items()
    compatible = openai_chat.build_body(settled("m", settings), compatible=True)
    assert compatible["max_tokens"] == 4000
    assert "max_completion_tokens" not in compatible

    responses = openai_responses.build_body(settled("m", settings))
    assert responses["reasoning"] == {"effort": "low", "summary": "auto"}
    assert (responses["max_output_tokens"], responses["tool_choice"]) == (4000, "required")

    claude = anthropic.build_body(settled("claude-sonnet-4-6", settings))
    assert "thinking" not in claude, "a model that must call a tool may not think first"
    assert claude["output_config"] == {"effort": "low"}
    assert claude["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    assert (claude["max_tokens"], claude["temperature"]) == (4000, 0.5)
    assert "top_p" not in claude
    claude = anthropic.build_body(settled("claude-sonnet-4-6", settings, tools=False))
    assert claude["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert {"temperature", "top_p", "tool_choice"}.isdisjoint(claude)

    new = cast(dict[str, Json], gemini.build_body(settled("gemini-3-pro", settings))["generationConfig"])
    assert new["thinkingConfig"] == {"includeThoughts": True, "thinkingLevel": "LOW"}
    assert (new["temperature"], new["topP"], new["maxOutputTokens"]) == (0.5, 0.9, 4000)

    for build in (openai_chat.build_body, openai_responses.build_body):
        assert {"temperature", "top_p", "tool_choice", "reasoning"}.isdisjoint(
            build(settled("m", ModelSettings()))
        )


@pytest.mark.parametrize(
    ("model", "budgeted"),
    [
        ("claude-3-7-sonnet-latest", True),
        ("claude-opus-4-1-20250805", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-haiku-4-5", True),
        ("claude-opus-4-6", False),
        ("claude-sonnet-5", False),
        ("claude-opus-4-10", False),
        ("some-proxy-name", False),
    ],
)
def test_effort_becomes_a_budget_for_older_claude_models_only(model: str, budgeted: bool) -> None:
    """L3: models before 4.6 take a budget of tokens, later ones an effort."""
    body = anthropic.build_body(settled(model, ModelSettings(reasoning_effort="medium")))
    kind = cast(dict[str, Json], body["thinking"])["type"]
    assert kind == ("enabled" if budgeted else "adaptive")
    assert body["max_tokens"] == 8192 + 8192
    small = ModelSettings(reasoning_effort="high", max_output_tokens=3000)
    body = anthropic.build_body(settled(model, small))
    assert body["max_tokens"] == 3000
    if budgeted:
        assert body["thinking"] == {"type": "enabled", "budget_tokens": 1500}


def test_a_budgeted_claude_does_not_think_on_after_calls_made_without_thinking() -> None:
    """L3: Anthropic refuses thinking when the calls just answered were made without it."""
    settings = ModelSettings(reasoning_effort="high")
    use: dict[str, Json] = {"type": "tool_use", "id": "t", "name": "weather", "input": {}}
    thought: list[Json] = [{"type": "thinking", "thinking": "hm", "signature": "s"}, use]
    for items, thinks in ((thought, True), ([use], False)):
        vendor = {"a": VendorTurn("anthropic", list[Json](items))}
        messages: list[Message] = [
            UserMessage(id="u", content="Go."),
            AssistantMessage(id="a", tool_calls=[call("call_1")]),
            ToolMessage(id="t", tool_call_id="call_1", content="1"),
        ]
        asked = ModelRequest("claude-sonnet-4-5", "", messages, vendor, [TOOL], settings=settings)
        assert ("thinking" in anthropic.build_body(asked)) == thinks


def test_ids_no_vendor_takes_are_replaced_in_call_and_result() -> None:
    """L3: a client's history may have ids too long or with letters that vendors refuse."""
    strange = "call of the wild/" + "x" * 100
    messages: list[Message] = [
        UserMessage(id="u", content="Go."),
        AssistantMessage(id="a", tool_calls=[call(strange)]),
        ToolMessage(id="t", tool_call_id=strange, content="1"),
    ]
    items = cast(list[dict[str, Json]], openai_responses.build_body(request(messages))["input"])
    assert items[1]["call_id"] == items[2]["call_id"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}", str(items[1]["call_id"]))


def test_a_gemini_before_3_takes_a_thinking_budget_and_no_json_beside_tools() -> None:
    """L3: where a model cannot have tools and a schema at once, the schema goes into the instructions."""
    settings = ModelSettings(reasoning_effort="high")
    body = gemini.build_body(settled("gemini-2.5-pro", settings, output=True))
    assert body["generationConfig"] == {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": 24576}}
    assert "additionalProperties" in str(body["systemInstruction"])


def test_structured_output_uses_each_service_own_mode() -> None:
    """L3: response_format, text.format, output_config.format, responseJsonSchema."""
    plain = ModelSettings()
    form = {"name": "answer", "schema": CLOSED, "strict": True}
    assert openai_chat.build_body(settled("m", plain, output=True))["response_format"] == {
        "type": "json_schema",
        "json_schema": form,
    }
    assert openai_responses.build_body(settled("m", plain, output=True))["text"] == {
        "format": {"type": "json_schema", **form}
    }
    assert anthropic.build_body(settled("m", plain, output=True))["output_config"] == {
        "format": {"type": "json_schema", "schema": CLOSED}
    }
    assert gemini.build_body(settled("m", plain, output=True))["generationConfig"] == {
        "responseMimeType": "application/json",
        "responseJsonSchema": CLOSED,
    }


def test_only_a_schema_that_fits_strict_mode_is_sent_as_strict() -> None:
    """L3: OpenAI refuses a strict schema with open objects or optional properties."""
    assert is_strict(CLOSED)
    assert not is_strict(SCHEMA)
    assert not is_strict({**CLOSED, "required": []})
    assert not is_strict({**CLOSED, "properties": {"city": SCHEMA}})
    assert not is_strict({**CLOSED, "$defs": {"x": SCHEMA}})
    assert is_strict({"type": "array", "items": CLOSED})


def test_a_schema_for_anthropic_has_closed_objects_and_no_limits() -> None:
    """L3: what Anthropic's mode cannot check is left to the validation of the answer."""
    schema: Json = {
        "type": "object",
        "properties": {"minimum": {"type": "integer", "minimum": 1}, "of": {"enum": [{"type": "object"}]}},
        "$defs": {"x": SCHEMA},
    }
    assert close_objects(schema) == {
        "type": "object",
        "properties": {"minimum": {"type": "integer"}, "of": {"enum": [{"type": "object"}]}},
        "$defs": {"x": CLOSED},
        "additionalProperties": False,
    }


def test_extra_options_are_merged_in_last_and_deeply() -> None:
    """R12: a vendor option agio has no word for can be given, and beats what agio sends."""
    merged = deep_merge({"a": {"b": 1, "c": 2}, "d": 1}, {"a": {"b": 9}, "d": {"e": 1}, "f": 2})
    assert merged == {"a": {"b": 9, "c": 2}, "d": {"e": 1}, "f": 2}
