"""The guarded client: where it goes, what it tells whom, and when it has had enough."""

import asyncio
import gzip
import socket
from collections.abc import Sequence
from ipaddress import ip_address

import pytest

from agio.egress import Address, Egress, EgressRequest, EgressResponse
from agio.errors import AgioError, UpstreamError, UserError
from agio.settings import load_server_settings
from tests.support.canary import Canary, answer_with, canary, redirect

SECRETS = [
    ("Authorization", "Bearer s3cret-token"),
    ("Cookie", "a=b"),
    ("X-Api-Key", "k3y"),
    ("Accept", "text/x"),
]


class Names:
    """A resolver that answers from lists, in turn; the last answer stays."""

    def __init__(self, **answers: Sequence[Sequence[str]]) -> None:
        self.answers = {name.replace("_", "."): list(turns) for name, turns in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[Address]:
        self.asked.append(host)
        if host not in self.answers:
            raise socket.gaierror("unknown")
        turns = self.answers[host]
        return [ip_address(each) for each in (turns.pop(0) if len(turns) > 1 else turns[0])]


def guard(bird: Canary, *more: str, names: Names | None = None) -> Egress:
    return Egress([f"127.0.0.1:{bird.port}", *more], names)


async def get(
    egress: Egress, url: str, *, limit_bytes: int = 100_000, timeout_s: float = 60
) -> EgressResponse:
    return await egress.request(EgressRequest("GET", url, limit_bytes=limit_bytes, timeout_s=timeout_s))


async def code_of(egress: Egress, url: str, *, limit_bytes: int = 100_000, timeout_s: float = 60) -> str:
    with pytest.raises(AgioError) as failed:
        await get(egress, url, limit_bytes=limit_bytes, timeout_s=timeout_s)
    return failed.value.code


async def test_an_exempt_server_is_called_with_what_was_given() -> None:
    """C3: method, path, headers and body arrive; status, headers and body come back."""
    async with canary() as bird:
        bird.answers["/things"] = answer_with(b"made", "X-Made: yes", status=201)
        response = await guard(bird).request(
            EgressRequest("POST", f"{bird.url}/things?q=1#x", [("X-Given", "1")], b"body")
        )
    call = bird.last
    assert (call.method, call.target, call.body, call.headers["x-given"]) == (
        "POST",
        "/things?q=1",
        b"body",
        "1",
    )
    assert call.headers["host"] == f"127.0.0.1:{bird.port}"
    assert (response.status, response.body, response.header("x-made")) == (201, b"made", "yes")
    assert response.url == f"{bird.url}/things?q=1"


@pytest.mark.parametrize(
    ("allow", "host", "open_"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.0/8", "127.0.0.1", True),
        ("127.0.0.1:{port}", "127.0.0.1", True),
        ("127.0.0.1:{port}", "localhost", True),
        ("127.0.0.1:1", "127.0.0.1", False),
        ("127.0.0.2", "127.0.0.1", False),
        ("10.0.0.0/8", "127.0.0.1", False),
        ("localhost", "localhost", True),
        ("localhost", "127.0.0.1", False),
        ("wiki.test", "wiki.test", True),
        ("WIKI.test:{port}", "wiki.test", True),
        ("wiki.test:1", "wiki.test", False),
        ("*.corp.test", "a.b.corp.test", True),
        ("*.corp.test", "corp.test", False),
        ("*.corp.test", "evilcorp.test", False),
        ("corp.test", "a.b.corp.test", False),
    ],
)
async def test_an_exemption_covers_what_it_names_and_nothing_else(allow: str, host: str, open_: bool) -> None:
    """C3: AGIO_EGRESS_ALLOW takes names, all names below one, addresses and networks, with or without a port."""
    names = Names(
        **{
            name: [["127.0.0.1"]]
            for name in ("localhost", "wiki_test", "a_b_corp_test", "corp_test", "evilcorp_test")
        }
    )
    async with canary() as bird:
        egress = Egress([allow.format(port=bird.port)], names)
        if open_:
            assert (await get(egress, f"http://{host}:{bird.port}/")).body == b"ok"
        else:
            assert await code_of(egress, f"http://{host}:{bird.port}/") == "egress_refused"
            assert bird.connections == 0


def test_exemptions_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """C3, L6: a list with commas, white space or both; none without it."""
    assert load_server_settings().egress_allow == []
    monkeypatch.setenv("AGIO_EGRESS_ALLOW", "10.1.0.0/16, wiki.corp:8080,*.corp.test ")
    assert load_server_settings().egress_allow == ["10.1.0.0/16", "wiki.corp:8080", "*.corp.test"]


@pytest.mark.parametrize(
    "entry", ["http://x", "a b", "1.2.3", "x:0", "10.0.0.1/8", ":80", "*", "a:b:c", "[::1", "x:99999"]
)
def test_an_exemption_that_cannot_be_read_stops_the_start(entry: str) -> None:
    """C3: a typo must not quietly mean something else."""
    with pytest.raises(UserError) as refused:
        Egress([entry])
    assert refused.value.code == "invalid_setting"


async def test_a_name_is_looked_up_once_and_that_address_is_called() -> None:
    """C3: between the check and the connection there is no second look-up to change the answer."""
    async with canary() as bird:
        names = Names(a_test=[["127.0.0.1"], ["10.0.0.1"]])
        egress = guard(bird, names=names)
        assert (await get(egress, f"http://a.test:{bird.port}/")).body == b"ok"
        assert bird.last.headers["host"] == f"a.test:{bird.port}"
        assert names.asked == ["a.test"]
        assert await code_of(egress, f"http://a.test:{bird.port}/") == "egress_refused"
        assert bird.connections == 1


async def test_one_bad_address_among_good_ones_is_enough_to_refuse() -> None:
    """C3: which of them would be called is not ours to guess."""
    names = Names(a_test=[["93.184.215.14", "10.0.0.1"]], b_test=[["93.184.215.14"]], c_test=[[]])
    egress = Egress(resolver=names)
    with pytest.raises(UserError) as refused:
        await egress.addresses("a.test", 80)
    assert refused.value.code == "egress_refused"
    assert "10.0.0.1" not in str(refused.value)
    assert await egress.addresses("b.test", 80) == [ip_address("93.184.215.14")]
    assert await code_of(egress, "http://c.test/") == "upstream_unreachable"
    assert await code_of(egress, "http://unknown.test/") == "upstream_unreachable"


async def test_localhost_is_local_whatever_a_name_server_says() -> None:
    """C3: names that end in localhost are this machine's."""
    egress = Egress(resolver=Names(localhost=[["93.184.215.14"]], x_localhost=[["93.184.215.14"]]))
    assert await code_of(egress, "http://localhost/") == "egress_refused"
    assert await code_of(egress, "http://x.localhost/") == "egress_refused"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE"])
async def test_a_redirect_within_an_origin_is_followed_as_browsers_do(status: int, method: str) -> None:
    """C3: what was sent is sent again, or becomes a GET without a body."""
    async with canary() as bird:
        bird.answers["/from"] = redirect("/to", status)
        body = b"{}" if method in ("POST", "PUT") else None
        headers = [*SECRETS, *([("Content-Type", "application/json")] if body else [])]
        response = await guard(bird).request(EgressRequest(method, f"{bird.url}/from", headers, body))
    became_get = (method != "HEAD" and status == 303) or (method == "POST" and status < 303)
    call = bird.last
    assert call.method == ("GET" if became_get else method)
    assert call.body == (b"" if became_get or not body else body)
    assert ("content-type" in call.headers) == (bool(body) and not became_get)
    assert call.headers["authorization"] == "Bearer s3cret-token"
    assert response.url == f"{bird.url}/to"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_another_origin_is_told_no_secrets(status: int) -> None:
    """C3: of what was sent only what says nothing goes on to another host or port."""
    async with canary() as here, canary() as there:
        here.answers["/from"] = redirect(f"{there.url}/to", status)
        egress = guard(here, f"127.0.0.1:{there.port}")
        response = await egress.request(EgressRequest("GET", f"{here.url}/from", SECRETS))
    assert response.body == b"ok"
    assert set(there.last.headers) == {"host", "accept", "accept-encoding", "connection"}
    assert here.last.headers["authorization"] == "Bearer s3cret-token"


async def test_what_was_dropped_does_not_come_back() -> None:
    """C3: a redirect there and back again has lost the secrets for good."""
    async with canary() as here, canary() as there:
        here.answers["/from"] = redirect(f"{there.url}/back")
        there.answers["/back"] = redirect(f"{here.url}/end")
        await guard(here, f"127.0.0.1:{there.port}").request(
            EgressRequest("GET", f"{here.url}/from", SECRETS)
        )
    assert here.last.target == "/end"
    assert "authorization" not in here.last.headers


@pytest.mark.parametrize("status", [307, 308])
async def test_a_body_is_not_carried_to_another_origin(status: int) -> None:
    """C3: it may hold as much of a secret as a header."""
    async with canary() as here, canary() as there:
        here.answers["/from"] = redirect(f"{there.url}/to", status)
        with pytest.raises(UserError) as refused:
            await guard(here, f"127.0.0.1:{there.port}").request(
                EgressRequest("POST", f"{here.url}/from", [], b"client_secret=x")
            )
    assert refused.value.code == "egress_refused"
    assert there.connections == 0


async def test_no_cookie_is_kept() -> None:
    """C3: what one answer sets, no other request has."""
    async with canary() as bird:
        bird.answers["/from"] = redirect("/to").replace(
            b"Content-Length", b"Set-Cookie: a=b\r\nContent-Length"
        )
        egress = guard(bird)
        await get(egress, f"{bird.url}/from")
        await get(egress, f"{bird.url}/again")
    assert all("cookie" not in call.headers for call in bird.calls)


async def test_redirects_end() -> None:
    """C3: five are followed, the sixth is an error."""
    async with canary() as bird:
        for step in range(8):
            bird.answers[f"/{step}"] = redirect(f"/{step + 1}")
        assert (await get(guard(bird), f"{bird.url}/3")).url == f"{bird.url}/8"
        assert await code_of(guard(bird), f"{bird.url}/2") == "too_many_redirects"
        bird.answers["/loop"] = redirect("/loop")
        assert await code_of(guard(bird), f"{bird.url}/loop") == "too_many_redirects"


async def test_a_redirect_is_read_as_utf_8() -> None:
    """C3: as browsers read it; what is not even that is refused."""
    async with canary() as bird:
        bird.answers["/from"] = redirect("/gr\u00fcn")
        bird.answers["/bad"] = redirect(b"/gr\xfcn")
        assert (await get(guard(bird), f"{bird.url}/from")).url == f"{bird.url}/gr%C3%BCn"
        assert await code_of(guard(bird), f"{bird.url}/bad") == "egress_refused"


async def test_two_places_at_once_are_none() -> None:
    """C3: which Location counts, readers disagree about."""
    async with canary() as bird:
        both = redirect("/a").replace(b"Content-Length", b"Location: http://10.0.0.1/\r\nContent-Length")
        bird.answers["/from"] = both
        bird.answers["/nowhere"] = answer_with(b"", status=302)
        assert await code_of(guard(bird), f"{bird.url}/from") == "egress_refused"
        assert (await get(guard(bird), f"{bird.url}/nowhere")).status == 302


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """C3: a proxy would connect where nobody checked."""
    async with canary() as bird, canary() as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
            monkeypatch.setenv(name.lower(), proxy.url)
        await get(guard(bird), f"{bird.url}/")
    assert (bird.connections, proxy.connections) == (1, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("X-A", "a\r\nX-B: c"),
            ("X-A", "a\nb"),
            ("X-A", "a\0"),
            ("X-A", " a"),
            ("X-A", "ü"),
            ("X-A", "x" * 9000),
        ),
        *(("X A", "a"), ("X-A:", "a"), ("", "a"), ("X\r\nY", "a"), ("Host", "h"), ("content-length", "5")),
        *(("Transfer-Encoding", "chunked"), ("Connection", "upgrade"), ("Expect", "100-continue")),
    ],
)
async def test_a_header_that_would_be_more_than_one_is_refused(name: str, value: str) -> None:
    """C3: nothing is sent, and the value is in no message."""
    async with canary() as bird:
        with pytest.raises(UserError) as refused:
            await guard(bird).request(EgressRequest("GET", bird.url, [(name, value)]))
        assert refused.value.code == "egress_refused"
        assert len(value) < 5 or value not in str(refused.value)
        assert bird.connections == 0


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "get", "GET /x HTTP/1.1\r\nX:", ""])
async def test_a_method_that_is_not_used_here_is_refused(method: str) -> None:
    """C3: CONNECT would make a tunnel."""
    with pytest.raises(UserError) as refused:
        await Egress().request(EgressRequest(method, "http://93.184.215.14/"))
    assert refused.value.code == "egress_refused"


async def test_an_answer_larger_than_allowed_is_refused() -> None:
    """C3: by what it says of its length, and by its length."""

    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    async with canary() as bird:
        bird.answers["/said"] = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n"
        bird.answers["/endless"] = endless
        bird.answers["/fits"] = answer_with(b"x" * 1000)
        bird.answers["/more"] = answer_with(b"x" * 1001)
        egress = guard(bird)
        assert await code_of(egress, f"{bird.url}/said") in ("upstream_too_large", "upstream_invalid")
        assert await code_of(egress, f"{bird.url}/endless") == "upstream_too_large"
        assert len((await get(egress, f"{bird.url}/fits", limit_bytes=1000)).body) == 1000
        assert await code_of(egress, f"{bird.url}/more", limit_bytes=1000) == "upstream_too_large"


async def test_a_bomb_is_put_down() -> None:
    """C3: what counts is what a compressed answer unpacks to; one that is damaged or in other wrapping is refused."""
    bomb = gzip.compress(b"\0" * 50_000_000)
    async with canary() as bird:
        bird.answers["/bomb"] = answer_with(bomb, "Content-Encoding: gzip")
        bird.answers["/twice"] = answer_with(gzip.compress(bomb), "Content-Encoding: gzip, gzip")
        bird.answers["/fine"] = answer_with(gzip.compress(b"hello"), "Content-Encoding: gzip")
        bird.answers["/cut"] = answer_with(gzip.compress(b"hello" * 100)[:-12], "Content-Encoding: gzip")
        bird.answers["/bad"] = answer_with(b"hello", "Content-Encoding: gzip")
        bird.answers["/br"] = answer_with(b"hello", "Content-Encoding: br")
        egress = guard(bird)
        assert len(bomb) < 100_000
        assert await code_of(egress, f"{bird.url}/bomb") == "upstream_too_large"
        assert (await get(egress, f"{bird.url}/fine")).body == b"hello"
        for path in ("/twice", "/cut", "/bad", "/br"):
            assert await code_of(egress, bird.url + path) == "upstream_invalid"


async def _drip(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


async def _drip_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    await _drip(writer)


async def _mute(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


@pytest.mark.parametrize("answer", [_drip, _drip_head, _mute])
async def test_a_server_that_drips_has_no_more_time_than_another(answer: object) -> None:
    """C3: the time-out is for all of it, not for each byte."""
    async with canary() as bird:
        bird.answers["/"] = answer  # pyright: ignore[reportArgumentType]
        async with asyncio.timeout(60):
            assert await code_of(guard(bird), bird.url, timeout_s=0.3) == "upstream_timeout"


async def test_looking_a_name_up_is_part_of_the_time() -> None:
    """C3: so is a name server that never answers."""

    async def never(host: str, port: int) -> Sequence[Address]:
        await asyncio.sleep(30)
        return []

    assert await code_of(Egress(resolver=never), "http://slow.test/", timeout_s=0.2) == "upstream_timeout"


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
        b"HTTP/1.1 abc\r\n\r\n",
    ],
)
async def test_what_is_not_http_is_an_answer_nobody_can_use(answer: bytes) -> None:
    """C3: an error with a code, and no hang."""
    async with canary() as bird:
        bird.answers["/"] = answer
        assert await code_of(guard(bird), bird.url) == "upstream_invalid"


async def test_nobody_there_is_said() -> None:
    """C3: a refused connection is an error of the other side's."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(UpstreamError) as failed:
            await get(Egress(["127.0.0.1"]), f"http://127.0.0.1:{port}/")
    assert failed.value.code == "upstream_unreachable"


async def test_the_machines_own_names_are_looked_up() -> None:
    """C3: without a resolver of its own it asks the machine's, again after it was closed."""
    async with canary() as bird:
        egress = Egress([f"localhost:{bird.port}"])
        assert (await get(egress, f"http://localhost:{bird.port}/")).body == b"ok"
        await egress.aclose()
        assert (await get(egress, f"http://localhost:{bird.port}/")).body == b"ok"
        await egress.aclose()
