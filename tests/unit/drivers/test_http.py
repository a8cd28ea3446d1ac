import asyncio
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from agio.core.model import ModelDriver, ModelEvent, ModelRequest, PartialUsage, TextDelta, TurnEnd, Usage
from agio.drivers.endpoint import Endpoint
from agio.drivers.openai_chat import OpenAIChatDriver
from agio.drivers.registry import open_driver
from agio.errors import ModelError
from agio.protocol.messages import Json, UserMessage
from tests.unit.drivers.raw_server import failure, raw_server, sse

KEY = "sk-very-secret-1234"
REQUEST = ModelRequest("m", "", [UserMessage(id="u", content="hi")])
HELLO = {"choices": [{"delta": {"content": "hello"}}]}
STOP: Json = {"choices": [{"delta": None, "finish_reason": "stop"}]}
JSON_TYPE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
HTML_TYPE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"


async def call(base_url: str, provider: str = "openai-chat") -> list[ModelEvent]:
    driver = open_driver(provider, Endpoint(base_url, KEY))
    try:
        return [event async for events in driver.stream(REQUEST) for event in events]
    finally:
        await driver.aclose()


async def error_of(answer: bytes, provider: str = "openai-chat") -> ModelError:
    async with raw_server(answer) as server:
        with pytest.raises(ModelError) as caught:
            await call(server.base_url, provider)
        assert server.base_url.removeprefix("http://") in caught.value.message
        assert KEY not in str(caught.value)
        return caught.value


@pytest.mark.parametrize(
    ("status", "body", "code", "retryable"),
    [
        (400, b'{"error":{"message":"no such option","type":"invalid_request_error"}}', "bad_request", False),
        (400, b'{"error":{"message":"x","code":"context_length_exceeded"}}', "context_too_long", False),
        (
            400,
            b'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}',
            "context_too_long",
            False,
        ),
        (
            400,
            b'{"error":{"code":400,"message":"The input token count (9) exceeds the maximum","status":"X"}}',
            "context_too_long",
            False,
        ),
        (
            400,
            b'{"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}',
            "invalid_api_key",
            False,
        ),
        (
            400,
            b'{"type":"error","error":{"type":"invalid_request_error","message":"credit balance is too low"}}',
            "quota_exceeded",
            False,
        ),
        (401, b'{"error":{"message":"Incorrect API key provided"}}', "invalid_api_key", False),
        (402, b'{"error":"pay"}', "quota_exceeded", False),
        (403, b'{"error":{"message":"no"}}', "permission_denied", False),
        (404, b'{"error":{"message":"no such model"}}', "model_not_found", False),
        (404, b"<html>not here</html>", "model_not_found", False),
        (408, b"", "model_unavailable", True),
        (413, b'{"error":{"type":"request_too_large","message":"big"}}', "request_too_large", False),
        (422, b'{"detail":[{"msg":"field required"}]}', "bad_request", False),
        (429, b'{"error":{"message":"slow down","type":"rate_limit_error"}}', "rate_limited", True),
        (429, b'{"error":{"message":"plan","code":"insufficient_quota"}}', "quota_exceeded", False),
        (
            429,
            b'{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, '
            b'please check your plan and billing details"}}',
            "rate_limited",
            True,
        ),
        (
            429,
            b'{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota",'
            b'"details":[{"violations":[{"quotaId":"RequestsPerDayPerProject"}]}]}}',
            "quota_exceeded",
            False,
        ),
        (500, b"oops", "model_unavailable", True),
        (500, b'[{"error":{"message":"The model is overloaded."}}]', "model_overloaded", True),
        (502, b"", "model_unavailable", True),
        (503, b'{"error":{"message":"busy"}}', "model_overloaded", True),
        (504, b"", "model_unavailable", True),
        (
            529,
            b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
            "model_overloaded",
            True,
        ),
        (418, b"", "bad_request", False),
    ],
)
async def test_an_error_status_becomes_its_code(status: int, body: bytes, code: str, retryable: bool) -> None:
    """L13: each way a service refuses has a stable code and says whether trying again makes sense."""
    error = await error_of(failure(status, body))
    assert (error.code, error.retryable) == (code, retryable)
    assert error.details["status"] == status


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        (["Retry-After: 7"], b"{}", 7.0),
        (["Retry-After: 0.5"], b"{}", 0.5),
        (["retry-after-ms: 1500", "Retry-After: 2"], b"{}", 1.5),
        (["Retry-After: soon"], b"{}", None),
        ([], b'{"error":{"message":"x","details":[{"@type":"RetryInfo","retryDelay":"34.5s"}]}}', 34.5),
        ([], b"{}", None),
    ],
)
async def test_the_wait_a_service_asks_for_is_passed_on(
    headers: list[str], body: bytes, seconds: float | None
) -> None:
    """C6: Retry-After in seconds, in milliseconds, or in Gemini's error details."""
    error = await error_of(failure(429, body, *headers))
    assert error.retry_after_s == seconds


async def test_a_wait_until_a_date_is_passed_on_in_seconds() -> None:
    """C6: Retry-After may be an HTTP date; one in the past is no wait."""
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    error = await error_of(failure(503, b"", f"Retry-After: {later}"))
    assert error.retry_after_s is not None
    assert 50 < error.retry_after_s <= 60
    error = await error_of(failure(503, b"", "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"))
    assert error.retry_after_s == 0.0


async def test_the_vendors_words_are_kept_short_and_free_of_the_key() -> None:
    """L13: the message says what the vendor said, cut, with an echoed key struck out."""
    error = await error_of(
        failure(400, b'{"error":{"message":"bad key %s %s"}}' % (KEY.encode(), b"x" * 900))
    )
    assert "bad key *** xxx" in error.message
    assert len(error.message) < 650


@pytest.mark.parametrize(
    ("provider", "answer", "code"),
    [
        ("openai-chat", sse(HELLO, {"error": {"message": "busy", "code": 503}}), "model_overloaded"),
        ("openai-chat", sse({"error": {"message": "m", "type": "rate_limit_exceeded"}}), "rate_limited"),
        ("openai-chat", sse({"error": "something"}), "model_unavailable"),
        ("openai", sse({"type": "error", "code": "rate_limit_exceeded", "message": "m"}), "rate_limited"),
        (
            "openai",
            sse({"type": "error", "error": {"type": "invalid_request_error", "message": "m"}}),
            "bad_request",
        ),
        (
            "openai",
            sse({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "m"}}}),
            "model_unavailable",
        ),
        (
            "openai",
            sse({"type": "response.failed", "response": {"error": {"code": "context_length_exceeded"}}}),
            "context_too_long",
        ),
        (
            "anthropic",
            sse({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            "model_overloaded",
        ),
        (
            "anthropic",
            sse({"type": "error", "error": {"type": "api_error", "message": "Internal"}}),
            "model_unavailable",
        ),
        (
            "gemini",
            sse({"error": {"code": 503, "status": "UNAVAILABLE", "message": "later"}}),
            "model_overloaded",
        ),
        (
            "gemini",
            sse({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}),
            "invalid_response",
        ),
    ],
)
async def test_an_error_inside_the_stream_becomes_its_code(provider: str, answer: bytes, code: str) -> None:
    """L13: a service that fails after it began to answer is understood as well."""
    assert (await error_of(answer, provider)).code == code


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (sse(HELLO), "stream_broken"),
        (sse(HELLO, chunked=False), "stream_broken"),
        (sse(), "stream_broken"),
        (sse(HELLO, done=True)[:-40], "stream_broken"),
        (sse(b'{"choices": nonsense}', done=True), "invalid_response"),
        (sse(b'{"choices": [{"delta": {"content": 5}}]}', done=True), "invalid_response"),
        (sse(b'{"choices": [{"delta": {"content": "\xff"}}]}', done=True), "invalid_response"),
        (JSON_TYPE + b'{"choices": []}', "invalid_response"),
        (JSON_TYPE + b'{"error": {"type": "overloaded_error", "message": "x"}}', "model_overloaded"),
        (HTML_TYPE + b"<html>", "invalid_response"),
        (b"not http at all\r\n\r\n", "invalid_response"),
        (b"", "connection_failed"),
        (failure(307, b"", "Location: http://127.0.0.1:1/"), "bad_request"),
    ],
)
async def test_an_answer_that_is_no_whole_stream_becomes_its_code(answer: bytes, code: str) -> None:
    """L13: cut, nonsense, another type, a redirect: never an exception of a library."""
    assert (await error_of(answer)).code == code


@pytest.mark.parametrize("provider", ["openai", "openai-chat", "anthropic", "gemini"])
async def test_a_service_that_is_not_there_is_a_failed_connection(provider: str) -> None:
    """L13: connection refused, and a name nobody knows, may be tried again."""
    async with raw_server() as server:
        gone = server.base_url
    for base_url in (gone, "http://nobody.invalid"):
        with pytest.raises(ModelError) as caught:
            await call(base_url, provider)
        assert caught.value.code == "connection_failed"
        assert caught.value.retryable


async def test_turns_share_a_connection() -> None:
    """L3: the end of an answer is read, so that its connection serves the next call."""
    answer = sse(HELLO, STOP, done=True)
    async with raw_server(answer, answer, answer) as server:
        driver = OpenAIChatDriver(Endpoint(server.base_url, KEY))
        for _ in range(3):
            events = [event async for events in driver.stream(REQUEST) for event in events]
            assert events[0] == TextDelta("hello")
            assert isinstance(events[-1], TurnEnd)
        assert server.connections == 1
        await driver.aclose()


async def test_a_turn_ends_with_its_end_marker_even_if_the_connection_stays_open() -> None:
    """L3: a service that forgets to end its answer does not hold the turn up."""
    answer = sse(HELLO, STOP, done=True).removesuffix(b"0\r\n\r\n")
    async with raw_server(answer, hold=True) as server:
        events = await asyncio.wait_for(call(server.base_url), 60)
        assert isinstance(events[-1], TurnEnd)


async def test_closing_the_stream_hangs_up() -> None:
    """L3: whoever leaves a stream leaves no connection behind."""
    async with raw_server(sse(HELLO).removesuffix(b"0\r\n\r\n"), hold=True) as server:
        driver = OpenAIChatDriver(Endpoint(server.base_url))
        stream = driver.stream(REQUEST)
        async with aclosing(stream):
            assert list(await anext(stream)) == [TextDelta("hello")]
        await asyncio.wait_for(server.hung_up.wait(), 60)
        await driver.aclose()


async def test_cancelling_the_reader_hangs_up() -> None:
    """L3: cancelling the task that reads closes the model's connection."""
    async with raw_server(sse(HELLO).removesuffix(b"0\r\n\r\n"), hold=True) as server:
        driver = OpenAIChatDriver(Endpoint(server.base_url))
        begun = asyncio.Event()

        async def read() -> None:
            async for _ in driver.stream(REQUEST):
                begun.set()

        task = asyncio.create_task(read())
        await asyncio.wait_for(begun.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.hung_up.wait(), 60)
        await driver.aclose()


def test_a_driver_outlives_an_event_loop() -> None:
    """L3: several asyncio.run() calls may use one driver; nothing is left open between them."""
    drivers: list[OpenAIChatDriver] = []
    ports = [0]

    async def turn() -> list[ModelEvent]:
        async with raw_server(sse(HELLO, STOP, done=True), port=ports[-1]) as server:
            ports.append(server.port)
            if not drivers:
                drivers.append(OpenAIChatDriver(Endpoint(server.base_url)))
            return [event async for events in drivers[0].stream(REQUEST) for event in events]

    for _ in range(3):
        assert asyncio.run(turn())[0] == TextDelta("hello")


OVERLOADED = {"type": "overloaded_error", "message": "Overloaded"}
TOLD: list[tuple[str, list[Json]]] = [
    (
        "anthropic",
        [
            {"type": "message_start", "message": {"usage": {"input_tokens": 5000, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "He"}},
            {"type": "error", "error": OVERLOADED},
        ],
    ),
    (
        "gemini",
        [
            {"usageMetadata": {"promptTokenCount": 5000, "candidatesTokenCount": 1}},
            {"error": {"code": 503, "status": "UNAVAILABLE", "message": "Overloaded"}},
        ],
    ),
    (
        "openai-chat",
        [{"choices": [], "usage": {"prompt_tokens": 5000, "completion_tokens": 1}}, {"error": OVERLOADED}],
    ),
]


@pytest.mark.parametrize("garbled", [False, True])
@pytest.mark.parametrize(("provider", "events"), TOLD)
async def test_usage_told_in_the_read_of_an_error_is_not_lost(
    provider: str, events: list[Json], garbled: bool
) -> None:
    """L12: however the bytes were cut, what the call told before it failed is told."""
    last: list[Json | bytes] = [b"{not json"] if garbled else [events[-1]]
    told: list[ModelEvent] = []

    async def read(driver: ModelDriver) -> None:
        async with aclosing(driver), aclosing(driver.stream(REQUEST)) as stream:
            async for batch in stream:
                told.extend(event for event in batch if isinstance(event, PartialUsage))

    async with raw_server(sse(*events[:-1], *last)) as server:
        with pytest.raises(ModelError) as caught:
            await read(open_driver(provider, Endpoint(server.base_url, KEY)))
    assert (caught.value.code == "invalid_response") is garbled
    assert told[-1] == PartialUsage(Usage(5000, 1))
