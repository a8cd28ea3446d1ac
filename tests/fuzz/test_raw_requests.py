"""Bytes on a bare socket that are no HTTP, or hardly: each is answered with a 4xx, or the connection is closed."""

import socket
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.frames import cut
from tests.fuzz.server import Target, target
from tests.fuzz.size import examples
from tests.support.process import KEY

WAIT_S = 60.0
HOST = b"Host: 127.0.0.1\r\n"
AUTH = b"Authorization: Bearer " + KEY.encode() + b"\r\n"
JSON = b"Content-Type: application/json\r\n"
GET = b"GET /api/me HTTP/1.1\r\n" + HOST + AUTH
POST = b"POST /api/agents HTTP/1.1\r\n" + HOST + AUTH + JSON
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
HOSTILE: dict[str, bytes] = {
    "no method": b" /api/me HTTP/1.1\r\n\r\n",
    "no path": b"GET HTTP/1.1\r\n\r\n",
    "nothing but blanks": b"   \r\n\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "a TLS handshake": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64 + b"\r\n\r\n",
    "HTTP/2 at once": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a version there is not": b"GET / HTTP/9.9\r\n" + HOST + b"\r\n",
    "a method there is not": b"FROBNICATE / HTTP/1.1\r\n" + HOST + b"\r\n",
    "a null byte in the path": b"GET /api/\0me HTTP/1.1\r\n" + HOST + b"\r\n",
    "a null byte in a header": GET + b"X-A: a\0b\r\n\r\n",
    "a null byte in a header's name": GET + b"X\0A: a\r\n\r\n",
    "a control character in the path": b"GET /api/\x01\x7f HTTP/1.1\r\n" + HOST + b"\r\n",
    "a header without a colon": GET + b"nonsense\r\n\r\n",
    "a header with a space before its colon": GET + b"X-A : a\r\n\r\n",
    "a folded header": GET + b"X-A: a\r\n b\r\n\r\n",
    "a bare line feed": b"GET /api/me HTTP/1.1\nHost: 127.0.0.1\n\n",
    "a bare carriage return": GET + b"X-A: a\rX-B: b\r\n\r\n",
    "a long request line": b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a long header": GET + b"X-A: " + b"a" * 1_000_000 + b"\r\n\r\n",
    "a hundred thousand headers": GET + b"X-A: a\r\n" * 100_000 + b"\r\n",
    "no host": b"GET /api/health HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /api/me HTTP/1.1\r\n" + HOST + b"Host: evil.example\r\n" + AUTH + b"\r\n",
    "somebody else's host": b"GET /api/health HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "a host that is none": b"GET /api/health HTTP/1.1\r\nHost: \xff[::\r\n\r\n",
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
    "a length and chunks": POST
    + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a negative length": POST + b"Content-Length: -1\r\n\r\n{}",
    "a length with a sign": POST + b"Content-Length: +2\r\n\r\n{}",
    "a length that is no number": POST + b"Content-Length: two\r\n\r\n{}",
    "a length beyond numbers": POST + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n{}",
    "a length of 5,000 digits": POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}",
    "a length of more than may come": POST + b"Content-Length: 999999999999\r\n\r\n{}",
    "an upload of more than may come": (
        b"POST /api/files HTTP/1.1\r\n" + HOST + AUTH + b"Content-Length: 999999999999\r\n\r\n{}"
    ),
    "another coding": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a coding that is none": POST + b"Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a chunk without a size": CHUNKED + b"\r\n{}\r\n0\r\n\r\n",
    "a chunk's size that is none": CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n",
    "a negative chunk": CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n",
    "a chunk beyond numbers": CHUNKED + b"f" * 40 + b"\r\n{}\r\n0\r\n\r\n",
    "a chunk longer than it said": CHUNKED + b"2\r\n{}{}{}\r\n0\r\n\r\n",
    "a chunk's endless extension": CHUNKED + b"2;" + b"a" * 200_000 + b"\r\n{}\r\n0\r\n\r\n",
    "endless trailers": CHUNKED + b"2\r\n{}\r\n0\r\n" + b"X-A: a\r\n" * 50_000 + b"\r\n",
    "a cookie of nonsense": GET.replace(AUTH, b"Cookie: __Host-agio_session=\xff\xfe;;;=\r\n") + b"\r\n",
    "a key of nonsense": GET.replace(AUTH, b"Authorization: Bearer \xff\xfe \x80\r\n") + b"\r\n",
    "a WebSocket without its key": (
        b"GET /realtime HTTP/1.1\r\n" + HOST + AUTH + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    ),
    "a WebSocket of another version": (
        b"GET /realtime HTTP/1.1\r\n" + HOST + AUTH + b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 7\r\n\r\n"
    ),
    "a WebSocket by POST": (
        b"POST /realtime HTTP/1.1\r\n" + HOST + AUTH + b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ),
    "an upgrade to what there is not": GET + b"Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
    "a proxy's request": b"GET http://evil.example/api/me HTTP/1.1\r\n" + HOST + b"\r\n",
    "a tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\n" + HOST + b"\r\n",
}
FINE = frozenset({"an upgrade to what there is not", "a WebSocket of another version", "a bare line feed"})
"""What may be served for what is left of it, as RFC 9110 and 9112 allow."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """One server for all that is sent here."""
    with target(tmp_path_factory.mktemp("raw")) as running:
        yield running


def _exchange(server: Target, *parts: bytes, answers: int = 1, patience_s: float = 0.2) -> bytes:
    """Send bytes and return what is answered: so many responses, or what comes until the connection ends.

    A server that waits for more is told after a while that none comes.
    """
    answered = b""
    with socket.create_connection(("127.0.0.1", server.port), patience_s) as connection:
        try:
            for part in parts:
                connection.sendall(part)
            while answered.count(b"HTTP/1.1 ") < answers and (data := connection.recv(65536)):
                answered += data
        except TimeoutError:
            answered += _hang_up(connection)
        except ConnectionError:
            pass  # closed while we were still talking
    return answered


def _hang_up(connection: socket.socket) -> bytes:
    rest = b""
    connection.settimeout(WAIT_S)
    with suppress(ConnectionError):
        connection.shutdown(socket.SHUT_WR)
        while data := connection.recv(65536):
            rest += data
    return rest


def _statuses(answered: bytes) -> list[int]:
    """Return the status of every response in what was answered."""
    lines = [line for line in answered.split(b"\r\n") if b"HTTP/1.1 " in line]
    return [int(line.partition(b"HTTP/1.1 ")[2][:3]) for line in lines]


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_request_is_refused_or_hung_up_on(server: Target, name: str) -> None:
    """S14: a 4xx or a closed connection, at once."""
    began = time.monotonic()
    statuses = _statuses(_exchange(server, HOSTILE[name]))
    assert time.monotonic() - began < WAIT_S
    assert all(400 <= status < 500 or (name in FINE and status == 200) for status in statuses), statuses
    assert len(statuses) <= 2


def test_a_pipelining_client_gets_the_first_answer(server: Target) -> None:
    """S14: requests or garbage that come before an answer are dropped, and the connection is closed after it."""
    whole = GET + b"\r\n"
    for more in (whole * 19, b"garbage\r\n\r\n" + whole * 3):
        assert _statuses(_exchange(server, whole + more, answers=20, patience_s=WAIT_S)) == [200]


def test_half_requests_harm_nobody(server: Target) -> None:
    """S14: whoever leaves in the middle of a request leaves nothing behind."""
    for whole in (GET + b"\r\n", POST + b"Content-Length: 100\r\n\r\n{", CHUNKED + b"ff\r\n{"):
        for end in range(1, len(whole), 7):
            with socket.create_connection(("127.0.0.1", server.port), WAIT_S) as connection:
                connection.sendall(whole[:end])
    assert _statuses(_exchange(server, GET + b"\r\n", patience_s=WAIT_S)) == [200]


def test_a_request_may_come_byte_by_byte(server: Target) -> None:
    """S14: slow is no crime."""
    body = b'{"content":"Hello"}'
    head = b"POST /api/agent-sessions/ses_0/message HTTP/1.1\r\n" + HOST + AUTH + JSON
    whole = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    assert _statuses(_exchange(server, *(bytes([byte]) for byte in whole), patience_s=WAIT_S)) == [404]


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(
    sent=st.one_of(
        st.binary(max_size=300),
        cut(GET + b"\r\n"),
        cut(POST + b"Content-Length: 2\r\n\r\n{}"),
        cut(CHUNKED + b"2\r\n{}\r\n0\r\n\r\n"),
        st.lists(st.sampled_from(sorted(HOSTILE.values(), key=len)[:30]), max_size=3).map(b"".join),
    )
)
def test_spoilt_bytes_never_break_the_server(server: Target, sent: bytes) -> None:
    """S14: no 5xx, whatever comes."""
    assert all(status < 500 for status in _statuses(_exchange(server, sent, patience_s=0.05)))


def test_whoever_leaves_with_answers_outstanding_leaves_no_trace_in_the_log(server: Target) -> None:
    """S14: several requests at once and then garbage, or nobody: no stack trace tells of it."""
    whole = GET + b"\r\n"
    for end in (b"garbage\r\n\r\n", b""):
        for count in range(2, 12):
            with socket.create_connection(("127.0.0.1", server.port), WAIT_S) as connection:
                connection.sendall(whole * count + end)
    server.check_alive()
