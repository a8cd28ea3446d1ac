"""HTTP at the edge: what is no request, what might be two, what is too long or never comes."""

import asyncio
import hashlib
import inspect
import resource
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from agio.server import http_protocol
from agio.server.descriptors import raise_descriptor_limit
from agio.server.http_protocol import BoundedHttp
from agio.server.http_server import HttpServer, QuietServer
from agio.server.socket_protocol import BoundedSocket
from agio.server.unsent import UnsentBytes
from tests.support.engine import soon
from tests.support.served import listening

HEAD = b"Host: a\r\n"


async def _echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer with what was asked; a path that ends with `read` waits for the whole body."""
    body = b""
    more = scope["path"].endswith("read")
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return
        body += message.get("body", b"")
        more = message.get("more_body", False)
    said = f"{scope['method']} {scope['path']} ".encode() + body
    length = (b"content-length", str(len(said)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": said})


@asynccontextmanager
async def _served(app: Any = _echo, **limits: Any) -> AsyncGenerator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = HttpServer(app, listener, max_message_bytes=1000, **limits)
        async with listening(server):
            yield listener.getsockname()[1]


async def _ask(port: int, *parts: bytes) -> bytes:
    """Send bytes and return everything that is answered until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answered = b""
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        while part := await soon(reader.read(65536)):
            answered += part
    except ConnectionResetError:
        pass  # it did not want to hear the rest
    finally:
        writer.close()
    return answered


def _code(answered: bytes) -> tuple[int, str]:
    head, _, body = answered.partition(b"\r\n\r\n")
    assert b"connection: close" in head
    assert b"content-type: application/json" in head
    return int(head.split()[1]), msgspec.json.decode(body)["error"]["code"]


def _post(*headers: bytes, body: bytes = b"", version: bytes = b"1.1") -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return b"POST /read HTTP/" + version + b"\r\n" + HEAD + lines + b"\r\n" + body


SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
AMBIGUOUS = {
    "length and chunks": _post(
        b"Content-Length: 5", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED
    ),
    "chunks and length": _post(
        b"Transfer-Encoding: chunked", b"Content-Length: 5", body=b"0\r\n\r\n" + SMUGGLED
    ),
    "two lengths": _post(b"Content-Length: 0", b"Content-Length: 36", body=SMUGGLED),
    "the same length twice": _post(b"Content-Length: 36", b"Content-Length: 36", body=SMUGGLED),
    "a list of lengths": _post(b"Content-Length: 36, 36", body=SMUGGLED),
    "a length with a sign": _post(b"Content-Length: +36", body=SMUGGLED),
    "a length below nothing": _post(b"Content-Length: -1", body=SMUGGLED),
    "a length in hex": _post(b"Content-Length: 0x24", body=SMUGGLED),
    "a coding nobody knows": _post(b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n" + SMUGGLED),
    "chunks that are not the last": _post(
        b"Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n" + SMUGGLED
    ),
    "two codings": _post(
        b"Transfer-Encoding: identity", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED
    ),
    "chunks in HTTP/1.0": _post(b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED, version=b"1.0"),
    "a blank before the colon": _post(b"Transfer-Encoding : chunked", body=b"0\r\n\r\n" + SMUGGLED),
    "a trailer": _post(b"Transfer-Encoding: chunked", body=b"0\r\nX-A: b\r\n\r\n" + SMUGGLED),
    "a chunk of no size": _post(b"Transfer-Encoding: chunked", body=b"zz\r\nabc\r\n0\r\n\r\n" + SMUGGLED),
    "two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "lines without CR": b"GET / HTTP/1.1\nHost: a\n\n",
    "a folded header": b"GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n",
    "a null in a header": b"GET / HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\n\r\n",
    "a CR in a header": b"GET / HTTP/1.1\r\nHost: a\r\nX-A: b\rX-B: c\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "nonsense": b"hello\r\n\r\n",
}


@pytest.mark.parametrize("kind", AMBIGUOUS)
async def test_what_a_proxy_might_read_otherwise_is_refused(kind: str) -> None:
    """R2: 400 in our shape, the connection closed, and nothing after it looked at."""
    async with _served() as port:
        answered = await _ask(port, AMBIGUOUS[kind])
        assert _code(answered) == (400, "invalid_request")
        assert b"smuggled" not in answered
        assert b"GET / " in await _ask(port, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX-A: " + b"a" * 70_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X-A: b\r\n" * 12_000 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX-A: " + b"a" * 200_000,
        _post(b"Transfer-Encoding: chunked", body=b"2\r\n{}\r\n0\r\nX-A: " + b"a" * 200_000),
        _post(b"Transfer-Encoding: chunked", body=b"2;" + b"a" * 200_000),
    ],
    ids=["a line", "a header", "many headers", "an open header", "an open trailer", "an open chunk size"],
)
async def test_a_head_that_is_too_long_is_refused(request_: bytes) -> None:
    """R2: 431 as soon as it is too long, also if its end never comes, and for what may come after it like it."""
    async with _served() as port:
        parts = [request_[at : at + 4096] for at in range(0, len(request_), 4096)]
        answered = await _ask(port, *parts)
        if answered:  # else the connection was reset before the answer was read
            assert _code(answered) == (431, "headers_too_large")
        assert b"GET / " in await _ask(port, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")


async def test_requests_that_follow_each_other_are_answered_in_order() -> None:
    """R2: the bounds are each request's own."""
    async with _served() as port:
        big = HEAD + b"X-A: " + b"a" * 50_000 + b"\r\n"
        chunked = b"Transfer-Encoding: chunked\r\n\r\n3\r\ndef\r\n0\r\n\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request, said in (
            (b"POST /1/read HTTP/1.1\r\n" + big + b"Content-Length: 3\r\n\r\nabc", b"POST /1/read abc"),
            (b"POST /2/read HTTP/1.1\r\n" + big + chunked, b"POST /2/read def"),
            (b"GET /3 HTTP/1.1\r\n" + HEAD + b"Connection: close\r\n\r\n", b"GET /3 "),
        ):
            writer.write(request)
            await soon(reader.readuntil(said))
        assert await soon(reader.read()) == b""
        writer.close()


@pytest.mark.parametrize("more", [b"GET /2 HTTP/1.1\r\nHost: a\r\n\r\n" * 3, b"nonsense\r\n\r\n", b"GET /2"])
async def test_what_comes_before_the_answer_is_dropped_and_the_connection_closed(more: bytes) -> None:
    """S14: requests are not pipelined; the first is answered once and whole, and nothing after it."""
    begun, go = asyncio.Event(), asyncio.Event()

    async def late(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/1/read":
            begun.set()
            await go.wait()
        await _echo(scope, receive, send)

    async with _served(late) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /1/read HTTP/1.1\r\n" + HEAD + b"Content-Length: 3\r\n\r\nabc" + more)
        await soon(begun.wait())
        writer.write(b"x" * 2 * http_protocol.HEAD_BYTES)  # which is neither parsed nor kept
        await writer.drain()
        for _ in range(3):  # meanwhile the server reads it
            await _ask(port, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        go.set()
        answered = await soon(reader.read())
        writer.close()
        assert answered.count(b"HTTP/1.1") == 1
        assert b"connection: close" in answered
        assert answered.endswith(b"POST /1/read abc")


async def test_a_request_right_after_the_last_byte_of_an_answer_is_answered() -> None:
    """S14: a client may have the whole answer before the application has ended it."""
    sent, go = asyncio.Event(), asyncio.Event()

    async def slow_to_end(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok", "more_body": True})
        if scope["path"] == "/1":
            sent.set()
            await go.wait()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async with _served(slow_to_end) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
        await soon(sent.wait())
        assert (await soon(reader.readuntil(b"ok"))).startswith(b"HTTP/1.1 200")
        writer.write(b"GET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        await writer.drain()
        await _ask(port, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")  # meanwhile it is read
        go.set()
        assert (await soon(reader.read())).endswith(b"ok")
        writer.close()


PINNED = {
    HttpToolsProtocol: {
        "__init__": "4f0899941034",
        "connection_made": "6efb565ff3d3",
        "connection_lost": "c91a4c9bf2e2",
        "data_received": "010a7ae59a5d",
        "pause_writing": "17a8fd215d96",
        "resume_writing": "7844bbaa8cce",
        "on_message_begin": "96d377fdc7c2",
        "on_header": "65d62c044f61",
        "on_headers_complete": "1ea8589acfad",
        "on_body": "dba9c32aeba3",
        "on_message_complete": "1fbad42dc31f",
        "on_response_complete": "64e254f28e38",
        "handle_websocket_upgrade": "179c4f769386",
        "send_400_response": "ae5a4a3782b6",
    },
    RequestResponseCycle: {
        "__init__": "4d2f220910c3",
        "run_asgi": "0f33f2449a44",
        "send": "abdd8601b326",
        "receive": "8124ae006be7",
    },
    WebSocketsSansIOProtocol: {
        "__init__": "631dcd744eab",
        "connection_lost": "dd116afc4d80",
        "data_received": "c89d394077d8",
        "pause_writing": "4830f7e0d81f",
        "resume_writing": "ef79384e5fff",
        "send_receive_event_to_app": "a2b10de91477",
        "receive": "1dc0e7153900",
    },
    uvicorn.Server: {
        "__init__": "c150b55284f7",
        "capture_signals": "e1bbcd4770d1",
        "startup": "2aa1d70a244b",
    },
}
"""What our protocols override or rely on in uvicorn, each with a hash of its source."""


def test_what_is_overridden_in_uvicorn_has_not_changed() -> None:
    """R2: an override is reviewed when uvicorn changes what it overrides; then its hash is pinned anew."""
    for ours, base in (
        (BoundedHttp, HttpToolsProtocol),
        (BoundedSocket, WebSocketsSansIOProtocol),
        (QuietServer, uvicorn.Server),
    ):
        classes = ours.__mro__[: ours.__mro__.index(base)]
        overridden = {name for one in classes for name in vars(one) if name in vars(base)}
        assert {name for name in overridden if callable(getattr(base, name))} <= PINNED[base].keys()
    for owner, pins in PINNED.items():
        for name, pinned in pins.items():
            source = inspect.getsource(getattr(owner, name))
            found = hashlib.sha256(source.encode()).hexdigest()[:12]
            assert found == pinned, f"uvicorn {uvicorn.__version__} has another {owner.__name__}.{name}"


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ([], None),
        ([b"GET / HTTP/1.1\r\nHost:"], (408, "request_timeout")),
        ([b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"], None),
    ],
    ids=["nothing", "half a head", "half a body, answered before it was read"],
)
async def test_whoever_does_not_go_on_is_not_waited_for(
    parts: list[bytes], code: tuple[int, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R2: a connection that says nothing, or a little at a time, is closed."""
    monkeypatch.setattr(http_protocol, "HEAD_S", 0.1)
    monkeypatch.setattr(http_protocol, "REST_S", 0.1)
    async with _served() as port:
        answered = await _ask(port, *parts)
        if code is not None:
            assert _code(answered) == code
        else:
            assert b"408" not in answered[:12]


async def test_a_slow_drip_does_not_begin_the_time_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """R2: it is the head that must be there in time, not the next byte of it."""
    monkeypatch.setattr(http_protocol, "HEAD_S", 0.3)
    async with _served() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        dripping = asyncio.create_task(_drip(writer))
        answered = b""
        try:
            while part := await soon(reader.read(65536)):
                answered += part
        except ConnectionResetError:
            pass  # the next drop came after the end
        finally:
            dripping.cancel()
            await asyncio.wait([dripping])
            writer.close()
        assert _code(answered) == (408, "request_timeout")


async def _drip(writer: asyncio.StreamWriter) -> None:
    for letter in b"GET / HTTP/1.1\r\nX-A: " + b"a" * 10_000:
        writer.write(bytes([letter]))
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("line", "more"),
    [
        (b"POST / HTTP/1.1\r\n", b"Content-Length: 3\r\n"),
        (b"GET / HTTP/1.1\r\n", b"Content-Length: 3\r\n"),
        (b"GET / HTTP/1.1\r\n", b"Transfer-Encoding: chunked\r\n"),
        (b"GET / HTTP/1.1\r\n", b"Cookie: " + b"a" * 9000 + b"\r\n"),
    ],
    ids=["not a GET", "with a body", "with chunks", "with a long header"],
)
async def test_a_handshake_that_no_websocket_begins_with_is_refused(line: bytes, more: bytes) -> None:
    """S14: it is not left open, without an answer and without an end."""
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    key = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    async with _served() as port:
        answered = await _ask(port, line + HEAD + upgrade + key + more + b"\r\n")
        assert _code(answered) == (400, "invalid_request")


async def test_blank_lines_do_not_keep_a_connection_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """S14: after an answer, they are no beginning of a request and no reason to wait."""
    monkeypatch.setattr(http_protocol, "HEAD_S", 0.1)
    async with _served() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /a HTTP/1.1\r\n" + HEAD + b"\r\n")
        assert b"GET /a" in await soon(reader.readuntil(b"GET /a"))
        writer.write(b"\r\n")
        await soon(reader.read())
        writer.close()


async def test_more_connections_than_there_may_be_are_refused() -> None:
    """S14: 503 and closed at once; when one goes, the next is taken."""
    async with _served(max_connections=2) as port:
        kept = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for reader, writer in kept:
            writer.write(b"GET /kept HTTP/1.1\r\n" + HEAD + b"\r\n")
            await soon(reader.readuntil(b"GET /kept"))
        assert _code(await _ask(port)) == (503, "too_many_connections")
        kept[0][1].close()
        await soon(kept[0][1].wait_closed())
        await _ask_until_taken(port)
        kept[1][1].close()


@pytest.mark.parametrize("kind", ["http", "websocket", "closing"])
async def test_a_reader_that_takes_nothing_is_disconnected(kind: str) -> None:
    """C7: after `write_timeout_s`, also if the response is complete and the connection only waits to be read."""

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/next":
            await _echo(scope, receive, send)
            return
        part = b"x" * 1_000_000
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            while True:
                await send({"type": "websocket.send", "bytes": part})
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(0 if kind == "closing" else 50):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": part * 50})

    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    key = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    async with _served(stream, write_timeout_s=0.1, max_connections=1) as port:
        with socket.create_connection(("127.0.0.1", port)) as stalled:
            more = upgrade + key if kind == "websocket" else b"Connection: close\r\n"
            stalled.sendall(b"GET /a HTTP/1.1\r\n" + HEAD + more + b"\r\n")
            await _ask_until_taken(port)


async def _ask_until_taken(port: int) -> None:
    """Ask until there is room for a connection: nobody tells when the server has closed another."""
    asked = b"GET /next HTTP/1.1\r\n" + HEAD + b"Connection: close\r\n\r\n"
    async with asyncio.timeout(60):
        while b"GET /next" not in await _ask(port, asked):
            pass


class _Buffer(asyncio.Transport):
    """A transport with so much in its buffer."""

    size = 0
    closed = aborted = False

    def get_write_buffer_size(self) -> int:
        return self.size

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.aborted = True


def test_a_slow_reader_that_moves_is_not_disconnected() -> None:
    """C7: neither if the buffer gets smaller, nor if it was read and filled again meanwhile."""

    class Connection(UnsentBytes):
        def held(self) -> None:
            return None

    connection = Connection()
    connection.transport = transport = _Buffer()
    for size, again in ((100, True), (99, False), (500, True), (499, False), (0, False), (700, True)):
        if again:
            connection.resume_writing()
            connection.pause_writing()
        transport.size = size
        connection.drop_if_stalled()
        assert not transport.aborted
    connection.drop_if_stalled()
    assert transport.aborted


def test_a_server_may_open_as_many_files_as_the_system_lets_it() -> None:
    """S14: the soft limit becomes the hard one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
        most = raise_descriptor_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == most >= soft
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
