"""Drivers that are given a guard: they connect where it says, or not at all."""

import gzip
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest

from agio.core.model import ModelEvent, ModelRequest, TextDelta
from agio.drivers.connection import BrokenAnswer, Connection
from agio.drivers.endpoint import Endpoint, Guard
from agio.drivers.registry import open_driver
from agio.egress import Address, Egress
from agio.errors import ModelError, UserError
from agio.protocol.messages import UserMessage
from tests.unit.drivers.raw_server import raw_server, sse

REQUEST = ModelRequest("m", "", [UserMessage(id="u", content="hi")])
ANSWER = sse(
    {"choices": [{"delta": {"content": "hello"}}]}, {"choices": [{"delta": None, "finish_reason": "stop"}]}
)
PROVIDERS = ("openai", "openai-chat", "anthropic", "gemini")


class Book:
    """A guard that answers from a list, in turn, and remembers what it was asked."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def addresses(self, host: str, port: int) -> Sequence[IPv4Address | IPv6Address]:
        self.asked.append((host, port))
        return [ip_address(each) for each in self.answers.pop(0)]


async def call(
    base_url: str, guard: Guard | None, provider: str = "openai-chat", times: int = 1
) -> list[ModelEvent]:
    driver = open_driver(provider, Endpoint(base_url, "sk-key-of-a-team", guard=guard))
    try:
        return [
            event
            for _ in range(times)
            for events in [events async for events in driver.stream(REQUEST)]
            for event in events
        ]
    finally:
        await driver.aclose()


async def test_a_guarded_driver_connects_where_the_guard_says() -> None:
    """C3: the name is looked up by the guard alone, and the Host header still says it."""
    async with raw_server(ANSWER) as server:
        guard = Book(["127.0.0.1"])
        events = await call(f"http://model.invalid:{server.port}/v1", guard)
        assert TextDelta("hello") in events
        assert guard.asked == [("model.invalid", server.port)]
        assert f"Host: model.invalid:{server.port}".encode() in server.heads[0]


async def test_the_guard_is_asked_for_every_new_connection() -> None:
    """C3: a name that changes its address is checked again; a connection that is kept goes where it went."""
    closing = ANSWER.replace(b"Transfer-Encoding", b"Connection: close\r\nTransfer-Encoding")
    async with raw_server(closing, ANSWER, ANSWER) as server:
        guard = Book(["127.0.0.1"], ["127.0.0.1"])
        await call(f"http://model.invalid:{server.port}/v1", guard, times=3)
        assert len(guard.asked) == 2 == server.connections


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "internal.test"])
async def test_no_driver_calls_an_address_that_is_not_public(provider: str, host: str) -> None:
    """C3: the real guard refuses, with the code the caller can act on, and nobody is called."""

    async def resolve(name: str, port: int) -> Sequence[Address]:
        return [ip_address("93.184.215.14"), ip_address("127.0.0.1")]

    async with raw_server(ANSWER) as server:
        with pytest.raises(UserError) as refused:
            await call(f"http://{host}:{server.port}/v1", Egress(resolver=resolve), provider)
        assert refused.value.code == "egress_refused"
        assert server.connections == 0


async def test_a_name_that_nobody_knows_is_a_failed_connection() -> None:
    """C3: as it is without a guard."""

    async def resolve(name: str, port: int) -> Sequence[Address]:
        raise socket.gaierror("no such name")

    with pytest.raises(ModelError) as failed:
        await call("http://model.invalid/v1", Egress(resolver=resolve))
    assert failed.value.code == "connection_failed"


async def test_an_exempt_address_is_called() -> None:
    """C3: what AGIO_EGRESS_ALLOW names is called as if it were public."""
    async with raw_server(ANSWER) as server:
        assert TextDelta("hello") in await call(server.base_url, Egress([f"127.0.0.1:{server.port}"]))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_driver_follows_no_redirect(status: int) -> None:
    """C3: nobody is sent where the guard was not asked."""
    async with raw_server(ANSWER) as inside:
        head = f"HTTP/1.1 {status} Elsewhere\r\nLocation: {inside.base_url}/v1\r\nContent-Length: 0\r\n"
        async with raw_server(f"{head}Connection: close\r\n\r\n".encode()) as server:
            with pytest.raises(ModelError) as failed:
                await call(server.base_url, Egress([f"127.0.0.1:{server.port}"]))
        assert failed.value.code == "bad_request"
        assert inside.connections == 0


async def test_a_compressed_answer_that_never_ends_unpacking_is_put_down() -> None:
    """C3: a service cannot fill a worker's memory with a few bytes."""
    bomb = gzip.compress(b"data: " + b"0" * (64 * 1024 * 1024), 9)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
    async with raw_server(head + b"Content-Length: %d\r\n\r\n" % len(bomb) + bomb) as server:
        with pytest.raises(ModelError) as failed:
            await call(server.base_url, None)
    assert failed.value.code in ("stream_broken", "invalid_response")


async def test_a_bomb_in_many_small_pieces_is_put_down_too() -> None:
    """C3: the limit is on what one read leaves unpacked, however the answer is cut."""
    bomb = gzip.compress(b": \n\n" * (8 * 1024 * 1024), 9)
    pieces = [bomb[at : at + 100] for at in range(0, len(bomb), 100)]
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    connection = Connection()
    connection.send(b"", b"")
    connection.data_received(head + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces))
    assert len(await connection.read()) <= 16 * 1024 * 1024
    with pytest.raises(BrokenAnswer, match="compressed"):
        await connection.read()
