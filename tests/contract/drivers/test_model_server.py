"""The model server itself: what it records, what it refuses, and how it fails when its script is used up."""

from collections.abc import AsyncIterator
from typing import TypeAlias

import pytest
from aiohttp import ClientSession

from agio.protocol.messages import Json
from agio.testing import Call, HttpStatus, ModelServer, Reply, ToolResult

Body: TypeAlias = dict[str, Json]
PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/gemini-3-pro-preview:generateContent",
}
HEADERS = {
    "authorization": "Bearer test-key",
    "x-api-key": "test-key",
    "anthropic-version": "2023-06-01",
    "x-goog-api-key": "test-key",
}
HELLO: dict[str, Body] = {
    "openai-chat": {"model": "m", "messages": [{"role": "user", "content": "Hello"}]},
    "openai": {"model": "m", "input": "Hello"},
    "anthropic": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
}
_USE: Body = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "add", "input": {}}]}
_RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "3"}
_CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
_CLOSED: Body = {"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": False}
_USER = {"role": "user", "content": "Hello"}
_GEMINI_CALL: Body = {"role": "model", "parts": [{"functionCall": {"name": "add", "args": {}}}]}
_GEMINI_USER = {"role": "user", "parts": [{"text": "Hello"}]}


def _chat(*messages: Json, **more: Json) -> Body:
    return {"model": "m", "messages": [_USER, *messages], **more}


def _responses(*items: Json, **more: Json) -> Body:
    return {"model": "m", "input": [_USER, *items], **more}


def _claude(*messages: Json, **more: Json) -> Body:
    return {"model": "m", "max_tokens": 2000, "messages": [_USER, *messages], **more}


def _gemini(*contents: Json, **more: Json) -> Body:
    return {"contents": [_GEMINI_USER, *contents], **more}


def _answer(name: str) -> Body:
    response: Body = {"name": name, "response": {"output": "3"}}
    return {"role": "user", "parts": [{"functionResponse": response}]}


WRONG: list[tuple[str, str, Body]] = [
    ("openai-chat", "unknown field", _chat(max_output_tokens=5)),
    ("openai-chat", "preceding", _chat({"role": "tool", "tool_call_id": "c1", "content": "3"})),
    ("openai-chat", "did not have", _chat({"role": "assistant", "tool_calls": [_CALL]}, _USER)),
    ("openai-chat", "1 to 40", _chat({"role": "assistant", "tool_calls": [{**_CALL, "id": "c" * 41}]})),
    ("openai-chat", "got null", _chat({"role": "assistant", "content": None})),
    ("openai-chat", "stream_options", _chat(stream_options={"include_usage": True})),
    ("openai-chat", "tools", _chat(tool_choice="auto")),
    ("openai", "unknown field", _responses(max_tokens=5)),
    (
        "openai",
        "No tool call found",
        _responses({"type": "function_call_output", "call_id": "c1", "output": ""}),
    ),
    (
        "openai",
        "No tool output found",
        _responses({"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"}),
    ),
    ("openai", "following item", _responses({"type": "reasoning", "id": "rs_1", "summary": []})),
    (
        "openai",
        "wrong text type",
        _responses({"role": "user", "content": [{"type": "output_text", "text": "a"}]}),
    ),
    ("openai", "required", _responses(tools=[{"type": "function", "name": "add", "parameters": _CLOSED}])),
    ("anthropic", "max_tokens", {"model": "m", "messages": [_USER]}),
    ("anthropic", "alternate", _claude(_USER)),
    ("anthropic", "without `tool_result`", _claude(_USE, _USER)),
    (
        "anthropic",
        "unexpected `tool_use_id`",
        _claude({"role": "assistant", "content": "a"}, {**_USER, "content": [_RESULT]}),
    ),
    ("anthropic", "non-empty", _claude({"role": "assistant", "content": ""}, _USER)),
    (
        "anthropic",
        "Invalid `signature`",
        _claude({"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": "b"}]}),
    ),
    (
        "anthropic",
        "Expected `thinking`",
        _claude(_USE, {**_USER, "content": [_RESULT]}, thinking={"type": "enabled", "budget_tokens": 1024}),
    ),
    ("anthropic", "greater than `thinking", _claude(thinking={"type": "enabled", "budget_tokens": 2000})),
    ("gemini", "unknown field", _gemini(model="m")),
    (
        "gemini",
        "first content",
        {"contents": [{"role": "model", "parts": [{"text": "Hello"}]}, _GEMINI_USER]},
    ),
    ("gemini", "number of function response", _gemini(_GEMINI_CALL, _GEMINI_USER)),
    (
        "gemini",
        "names match",
        _gemini(_GEMINI_CALL, _answer("sub")),
    ),
    (
        "gemini",
        "thought_signature",
        _gemini(_GEMINI_CALL, _answer("add")),
    ),
    (
        "gemini",
        "additionalProperties",
        _gemini(
            tools=[{"functionDeclarations": [{"name": "add", "description": "", "parameters": _CLOSED}]}]
        ),
    ),
]


@pytest.fixture
async def client() -> AsyncIterator[ClientSession]:
    """An HTTP client of nobody's making."""
    async with ClientSession(headers=HEADERS) as client:
        yield client


async def _post(client: ClientSession, server: ModelServer, wire: str, body: Body) -> tuple[int, str]:
    async with client.post(server.url + PATHS[wire], json=body) as response:
        return response.status, await response.text()


async def test_without_a_script_it_echoes(client: ClientSession, wire: str) -> None:
    """L3: the server answers every format at once, also without streaming."""
    async with ModelServer() as server:
        status, text = await _post(client, server, wire, HELLO[wire])
        assert (status, server.calls[0].messages) == (200, [("user", "Hello")])
        assert "Hello" in text
        assert "Hello" in server.calls[0].texts()


async def test_a_function_can_answer(client: ClientSession, wire: str) -> None:
    """L3: a reply may depend on the call."""
    async with ModelServer() as server:
        server.answer(lambda call: Reply(tool_calls=[Call("add", {"said": call.last_user_text})]))
        status, text = await _post(client, server, wire, HELLO[wire])
    assert status == 200
    assert "said" in text


async def test_a_call_too_many_is_an_error_with_a_clear_message(client: ClientSession, wire: str) -> None:
    """L13: a script that is used up fails loudly and is recorded."""
    async with ModelServer() as server:
        server.script(Reply(text="Only one."))
        await _post(client, server, wire, HELLO[wire])
        status, text = await _post(client, server, wire, HELLO[wire])
        assert status == 500
        assert "no reply to call 2" in text
        assert "its script is used up" in text
        assert len(server.problems) == 1


@pytest.mark.parametrize(("wire", "words", "body"), WRONG, ids=[f"{wire}: {why}" for wire, why, _ in WRONG])
async def test_a_wrong_request_is_refused_as_the_vendor_does(
    client: ClientSession, wire: str, words: str, body: Body
) -> None:
    """L3: the server catches what the vendor would refuse, says what is wrong and records it."""
    async with ModelServer() as server:
        status, text = await _post(client, server, wire, body)
        assert status == 400
        assert words in text
        assert server.calls[0].rejection is not None
        assert len(server.problems) == 1


async def test_a_wrong_key_is_refused(client: ClientSession, wire: str) -> None:
    """L13: a request without the right key does not get an answer."""
    async with ModelServer(api_key="another") as server:
        status, _ = await _post(client, server, wire, HELLO[wire])
        assert status in (400, 401)
    async with ModelServer(api_key=None) as server:
        status, _ = await _post(client, server, wire, HELLO[wire])
        assert status == 200


async def test_a_status_carries_retry_after(client: ClientSession, wire: str) -> None:
    """C6: a fault of the server has the vendor's headers."""
    async with ModelServer() as server:
        server.script(Reply(fault=HttpStatus(429, retry_after_s=1.5)))
        async with client.post(server.url + PATHS[wire], json=HELLO[wire]) as response:
            assert response.status == 429
            assert response.headers["retry-after"] == "1.5"


async def test_tool_results_have_one_view(client: ClientSession) -> None:
    """L3: a test asserts in one way on all formats."""
    chat = _chat(
        {"role": "assistant", "tool_calls": [_CALL]}, {"role": "tool", "tool_call_id": "c1", "content": "3"}
    )
    claude = _claude(_USE, {"role": "user", "content": [_RESULT]})
    call = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"}
    responses = _responses(call, {"type": "function_call_output", "call_id": "c1", "output": "3"})
    async with ModelServer() as server:
        for wire, body in (("openai-chat", chat), ("openai", responses), ("anthropic", claude)):
            status, text = await _post(client, server, wire, body)
            assert status == 200, text
        for seen in server.calls:
            assert seen.tool_results == [ToolResult("add", "3")]
            assert seen.messages == [("user", "Hello"), ("assistant", ""), ("tool", "3")]
