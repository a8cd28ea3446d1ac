"""One HTTP/1.1 connection, against raw bytes."""

import asyncio
import gzip
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from agio.drivers.connection import BrokenAnswer, parse_url
from agio.drivers.pool import Connections
from agio.errors import UserError


@asynccontextmanager
async def service(*connections: list[list[bytes]]) -> AsyncGenerator[str, None]:
    """Serve scripted bytes: the n-th connection answers its requests in order, then closes."""
    scripts = list(connections)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for writes in scripts.pop(0):
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(size)
            for part in writes:
                writer.write(part)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/x"


async def ask(pool: Connections, url: str) -> bytes:
    """Post something and return the whole answer."""
    connection = await pool.post(parse_url(url), {"X": "y"}, b"{}")
    body = b""
    while chunk := await connection.read():
        body += chunk
    pool.release(connection)
    return body


def plain(body: bytes, *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


async def test_a_connection_is_used_again() -> None:
    """L3: two requests, one connection."""
    async with service([[plain(b"one")], [plain(b"two")]]) as url:
        pool = Connections()
        assert [await ask(pool, url), await ask(pool, url)] == [b"one", b"two"]
        await pool.aclose()


async def test_a_kept_connection_that_the_other_side_closed_is_replaced() -> None:
    """L3: the request goes out again on a new connection, and nobody notices."""
    async with service([[plain(b"one")]], [[plain(b"two")]]) as url:
        pool = Connections()
        assert [await ask(pool, url), await ask(pool, url)] == [b"one", b"two"]
        await pool.aclose()


async def test_an_answer_until_the_end_of_the_connection_is_whole() -> None:
    """L3: HTTP/1.0 manners: no length, no chunks."""
    async with service([[b"HTTP/1.1 200 OK\r\n\r\nhel", b"lo"]]) as url:
        pool = Connections()
        assert await ask(pool, url) == b"hello"
        await pool.aclose()


async def test_a_compressed_answer_is_read_however_it_is_cut() -> None:
    """L3: the first piece of gzip has no data yet, which is not the end."""
    packed = gzip.compress(b"hello world")
    head = plain(packed, b"Content-Encoding: gzip")[: -len(packed)]
    async with service([[head, packed[:10], packed[10:]]]) as url:
        pool = Connections()
        assert await ask(pool, url) == b"hello world"
        await pool.aclose()


async def test_an_interim_answer_is_skipped() -> None:
    """L3: 100 Continue, then the real one."""
    async with service([[b"HTTP/1.1 100 Continue\r\n\r\n" + plain(b"real")]]) as url:
        pool = Connections()
        assert await ask(pool, url) == b"real"
        await pool.aclose()


async def test_a_second_answer_nobody_asked_for_is_not_believed() -> None:
    """L3: it is not part of the first, and the connection is not used again."""
    async with service([[plain(b"one") + plain(b"evil")]], [[plain(b"two")]]) as url:
        pool = Connections()
        assert [await ask(pool, url), await ask(pool, url)] == [b"one", b"two"]
        await pool.aclose()


@pytest.mark.parametrize(
    ("answer", "garbled"),
    [
        (b"SSH-2.0-OpenSSH\r\n\r\n", True),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal", False),
        (b"", False),
    ],
)
async def test_a_broken_answer_says_what_is_wrong(answer: bytes, garbled: bool) -> None:
    """L13: nonsense and cut answers are told apart."""
    async with service([[answer]]) as url:
        pool = Connections()
        with pytest.raises(BrokenAnswer) as caught:
            await ask(pool, url)
        assert caught.value.garbled == garbled
        await pool.aclose()


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://x/y", "http://", "http://[::1", "http://a:b/", "//x"])
def test_what_is_no_address_is_refused(url: str) -> None:
    """R12: with a code."""
    with pytest.raises(UserError) as caught:
        parse_url(url)
    assert caught.value.code == "invalid_base_url"


def test_addresses_are_taken_apart() -> None:
    """R12: ports, IPv6, names beyond ASCII, odd characters in paths."""
    assert parse_url("https://api.example/v1/x?y=1") == (True, "api.example", 443, "api.example", "/v1/x?y=1")
    assert parse_url("http://[::1]:8080/a b")[1:] == ("::1", 8080, "[::1]:8080", "/a%20b")
    assert parse_url("http://bücher.example")[1] == "xn--bcher-kva.example"


async def test_a_header_that_would_split_the_request_is_refused() -> None:
    """R12: a key with a line break never reaches the wire."""
    pool = Connections()
    with pytest.raises(UserError) as caught:
        await pool.post(parse_url("http://127.0.0.1:9/x"), {"Authorization": "Bearer a\r\nX: b"}, b"")
    assert caught.value.code == "invalid_header"
    await pool.aclose()


async def test_fields_after_the_body_are_no_headers() -> None:
    """L3: a trailer changes no header, and one without an end is given up instead of gathered."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: head\r\n\r\n2\r\n{}\r\n0\r\nX-A: trailer"
    async with service([[head + b"\r\n\r\n"]], [[head, *[b"a" * 100_000] * 20]]) as url:
        pool = Connections()
        connection = await pool.post(parse_url(url), {"X": "y"}, b"{}")
        assert await connection.read() == b"{}"
        assert await connection.read() == b""
        assert connection.headers["x-a"] == "head"
        with pytest.raises(BrokenAnswer, match="larger than"):
            await ask(pool, url)
        await pool.aclose()
