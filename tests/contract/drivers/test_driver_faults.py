"""What a driver says when the service, the network or the bytes are bad."""

import asyncio
import socket

import pytest

from agio.core.model import ModelDriver, ModelEvent
from agio.drivers.endpoint import Endpoint
from agio.drivers.registry import open_driver
from agio.errors import ModelError
from agio.testing import (
    CutAfterBytes,
    CutAfterEvents,
    Fault,
    HeadersOnly,
    HtmlPage,
    HttpStatus,
    InvalidJson,
    ModelServer,
    NeverAnswer,
    NoEnd,
    Reply,
    Stall,
    StreamError,
    VendorError,
)
from agio.testing.faults import ProblemKind
from tests.contract.drivers.turns import ask, collect, fail, hear_into, text_in

KINDS: dict[ProblemKind, tuple[str, bool]] = {
    "rate_limited": ("rate_limited", True),
    "quota_exceeded": ("quota_exceeded", False),
    "unavailable": ("model_unavailable", True),
    "overloaded": ("model_overloaded", True),
    "invalid_api_key": ("invalid_api_key", False),
    "permission_denied": ("permission_denied", False),
    "model_not_found": ("model_not_found", False),
    "bad_request": ("bad_request", False),
    "context_too_long": ("context_too_long", False),
    "request_too_large": ("request_too_large", False),
}
STATUSES = {
    400: ("bad_request", False),
    401: ("invalid_api_key", False),
    402: ("quota_exceeded", False),
    403: ("permission_denied", False),
    404: ("model_not_found", False),
    408: ("model_unavailable", True),
    413: ("request_too_large", False),
    429: ("rate_limited", True),
    500: ("model_unavailable", True),
    502: ("model_unavailable", True),
    503: ("model_overloaded", True),
    504: ("model_unavailable", True),
    529: ("model_overloaded", True),
}
TEXT = "A story that breaks off before it is told."
BROKEN: list[Fault] = [
    CutAfterBytes(0),
    CutAfterBytes(1),
    CutAfterBytes(150),
    CutAfterBytes(700),
    CutAfterBytes(700, reset=True),
    *(CutAfterEvents(count) for count in range(6)),
    NoEnd(),
]
SILENT: list[Fault] = [NeverAnswer(), HeadersOnly(), Stall(0), Stall(3)]


@pytest.mark.parametrize("kind", KINDS)
async def test_each_complaint_of_a_vendor_has_its_code(
    driver: ModelDriver, server: ModelServer, wire: str, kind: ProblemKind
) -> None:
    """L13: the vendor's own error bodies become stable codes, and say what can be tried again."""
    server.script(Reply(fault=VendorError(kind)))
    error = await fail(driver, ask(wire))
    assert (error.code, error.retryable) == KINDS[kind]
    assert error.message


@pytest.mark.parametrize("status", STATUSES)
async def test_each_status_has_its_code(
    driver: ModelDriver, server: ModelServer, wire: str, status: int
) -> None:
    """L13: a status alone is enough to tell what happened."""
    server.script(Reply(fault=HttpStatus(status, "Something happened.")))
    error = await fail(driver, ask(wire))
    assert (error.code, error.retryable) == STATUSES[status]
    assert "Something happened." in error.message


@pytest.mark.parametrize("status", [429, 503, 529])
async def test_retry_after_is_handed_on(
    driver: ModelDriver, server: ModelServer, wire: str, status: int
) -> None:
    """C6: the vendor's Retry-After reaches the loop."""
    server.script(Reply(fault=HttpStatus(status, retry_after_s=7)))
    error = await fail(driver, ask(wire))
    assert error.retryable
    assert error.retry_after_s == 7


async def test_without_retry_after_no_time_is_invented(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """C6: the loop's own back-off applies when the vendor names no time."""
    server.script(Reply(fault=HttpStatus(429)))
    assert (await fail(driver, ask(wire))).retry_after_s is None


async def test_gemini_names_the_time_in_the_body(server: ModelServer) -> None:
    """C6: Gemini says when to try again in its error's details, not in a header."""
    driver = open_driver("gemini", server.endpoint("gemini"))
    server.script(Reply(fault=VendorError("rate_limited")))
    assert (await fail(driver, ask("gemini"))).retry_after_s == 2.5
    await driver.aclose()


@pytest.mark.parametrize("as_turn", [False, True])
@pytest.mark.parametrize("kind", ["overloaded", "rate_limited", "unavailable", "context_too_long"])
async def test_an_error_in_the_stream_has_its_code(
    driver: ModelDriver, server: ModelServer, wire: str, kind: ProblemKind, as_turn: bool
) -> None:
    """L13: an error object after a good beginning is an error, with its own code."""
    server.script(Reply(text=TEXT, fault=StreamError(kind, after_events=4, as_turn=as_turn)))
    error = await fail(driver, ask(wire))
    assert (error.code, error.retryable) == KINDS[kind]


@pytest.mark.parametrize("fault", BROKEN, ids=str)
async def test_a_stream_that_breaks_off_says_so(
    driver: ModelDriver, server: ModelServer, wire: str, fault: Fault
) -> None:
    """L13: a cut or unfinished stream is never taken for a finished turn."""
    server.script(Reply(text=TEXT, fault=fault))
    error = await fail(driver, ask(wire))
    assert (error.code, error.retryable) == ("stream_broken", True)


async def test_what_came_before_a_cut_was_handed_on(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L13: text that arrived is shown, then the error is raised."""
    server.script(Reply(text=TEXT, chunk_chars=3, fault=CutAfterEvents(10)))
    heard: list[ModelEvent] = []
    with pytest.raises(ModelError):
        await hear_into(heard, driver, ask(wire))
    assert TEXT.startswith(text_in(heard))
    assert len(text_in(heard)) > 5


async def test_an_event_that_is_no_json_is_an_invalid_response(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L13: nonsense in the stream is told apart from a broken line."""
    server.script(Reply(text=TEXT, fault=InvalidJson(3)))
    error = await fail(driver, ask(wire))
    assert (error.code, error.retryable) == ("invalid_response", True)


async def test_a_web_page_is_an_invalid_response(driver: ModelDriver, server: ModelServer, wire: str) -> None:
    """L13: a proxy's page with status 200 is not an answer."""
    server.script(Reply(fault=HtmlPage()))
    error = await fail(driver, ask(wire))
    assert (error.code, error.retryable) == ("invalid_response", True)


async def test_a_gateways_error_page_counts_by_its_status(
    driver: ModelDriver, server: ModelServer, wire: str
) -> None:
    """L13: an error page that is no JSON still has its code."""
    server.script(Reply(fault=HtmlPage(502)))
    error = await fail(driver, ask(wire))
    assert (error.code, error.retryable) == ("model_unavailable", True)


async def test_a_refused_connection_is_told(wire: str) -> None:
    """L13: nobody listens there."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    driver = open_driver(wire, Endpoint(base_url=url, api_key="test-key"))
    error = await fail(driver, ask(wire))
    await driver.aclose()
    assert (error.code, error.retryable) == ("connection_failed", True)


async def test_a_server_that_hangs_up_before_answering_is_told(wire: str) -> None:
    """L13: a connection that closes before any answer may be tried again."""
    async with ModelServer() as server:
        server.script(Reply(fault=NeverAnswer()))
        driver = open_driver(wire, server.endpoint(wire))
        failing = asyncio.create_task(fail(driver, ask(wire)))
        await server.wait_for_calls()
    error = await asyncio.wait_for(failing, 60)
    await driver.aclose()
    assert (error.code, error.retryable) == ("connection_failed", True)


async def test_a_wrong_key_is_told_without_repeating_it(wire: str) -> None:
    """L13: the key itself never shows in an error."""
    async with ModelServer() as server:
        endpoint = Endpoint(base_url=server.base_url(wire), api_key="wrong-secret-key")
        driver = open_driver(wire, endpoint)
        error = await fail(driver, ask(wire))
        await driver.aclose()
    assert error.code == "invalid_api_key"
    assert "wrong-secret-key" not in str(error)


@pytest.mark.parametrize("fault", SILENT, ids=str)
async def test_leaving_a_silent_server_closes_the_connection(
    driver: ModelDriver, server: ModelServer, wire: str, fault: Fault
) -> None:
    """L13: cancellation closes the connection whatever the server is doing."""
    server.script(Reply(text=TEXT, fault=fault))
    waiting = asyncio.create_task(collect(driver, ask(wire)))
    await server.wait_for_calls()
    waiting.cancel()
    await asyncio.wait([waiting], timeout=60)
    assert waiting.cancelled()
    await server.wait_closed_by_client()
    assert server.requests_open == 0
