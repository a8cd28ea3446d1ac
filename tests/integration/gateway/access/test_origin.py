"""Whose pages may ask: our own origin, names that are ours, and nothing for anybody else's."""

import socket
from collections.abc import Mapping

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from agio.errors import UserError
from agio.gateway.app import create_app
from agio.gateway.http.origin import WEBSOCKET, Origins
from agio.gateway.routes.table import ROUTES
from agio.server.http_server import HttpServer
from agio.server.listening import is_public, listen
from tests.support.engine import soon
from tests.support.house import ADDRESS, House, code_of, house
from tests.support.served import listening

PUBLIC = "https://agio.example.com"


def _headers(given: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode("latin-1")) for name, value in given.items()]


def _allowed(origins: Origins, method: str, **headers: str) -> bool:
    try:
        origins.check_origin(
            method, _headers({name.replace("_", "-"): value for name, value in headers.items()})
        )
    except UserError as error:
        if error.code != "forbidden_origin":
            raise
        return False
    return True


@pytest.mark.parametrize(
    ("host", "origin", "own"),
    [
        ("127.0.0.1:8700", "http://127.0.0.1:8700", True),
        ("127.0.0.1:8700", "https://127.0.0.1:8700", False),
        ("127.0.0.1:8700", "http://127.0.0.1", False),
        ("127.0.0.1:8700", "http://127.0.0.1:8701", False),
        ("127.0.0.1:8700", "http://localhost:8700", False),
        ("LOCALHOST:8700", "http://localhost:8700", True),
        ("localhost:80", "http://localhost", True),
        ("[::1]:8700", "http://[::1]:8700", True),
        ("agio.test", "http://agio.test", True),
        ("agio.test", "http://sub.agio.test", False),
        ("agio.test", "http://agio.test.evil.example", False),
        ("agio.test", "http://agio.test@evil.example", False),
        ("agio.test", "null", False),
        ("agio.test", "", False),
        ("agio.test", "agio.test", False),
        ("agio.test", "file://agio.test", False),
        ("", "http://", False),
    ],
)
@pytest.mark.parametrize("method", ["POST", WEBSOCKET])
def test_without_tls_a_page_of_ours_has_our_scheme_name_and_port(
    method: str, host: str, origin: str, own: bool
) -> None:
    """R2: all three, for what changes something with a cookie and for WebSockets."""
    assert _allowed(Origins(), method, host=host, origin=origin, cookie="x") is own


@pytest.mark.parametrize(
    ("host", "origin", "own"),
    [
        ("agio.example.com", PUBLIC, True),
        ("gateway:8700", PUBLIC, True),  # a proxy that does not pass the name on
        ("agio.example.com", "http://agio.example.com", False),
        ("agio.example.com", f"{PUBLIC}:8443", False),
        ("evil.example", "https://evil.example", False),
        ("sub.agio.example.com", "https://sub.agio.example.com", False),
        ("agio.example.com", "null", False),
        ("127.0.0.1:8700", "http://127.0.0.1:8700", True),  # the operator, on the machine itself
    ],
)
@pytest.mark.parametrize("method", ["DELETE", WEBSOCKET])
def test_behind_tls_a_page_of_ours_has_the_public_url(method: str, host: str, origin: str, own: bool) -> None:
    """R2: whatever name the request came by."""
    origins = Origins(public_url=PUBLIC, behind_tls=True)
    assert _allowed(origins, method, host=host, origin=origin, cookie="x") is own


def test_behind_tls_without_a_public_url_the_scheme_must_be_https() -> None:
    """R2: the name is the request's, for nobody has said which is right."""
    origins = Origins(behind_tls=True)
    assert _allowed(origins, "POST", host="agio.example.com", origin=PUBLIC)
    assert _allowed(origins, "POST", host="agio.example.com:443", origin=PUBLIC)
    assert not _allowed(origins, "POST", host="agio.example.com", origin="http://agio.example.com")
    assert not _allowed(origins, "POST", host="agio.example.com", origin="https://evil.example")


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_what_the_browser_says_must_be_right_twice(site: str) -> None:
    """R2: a good Origin with a foreign Sec-Fetch-Site is refused, and the other way round."""
    good = {"host": "agio.test", "origin": "http://agio.test"}
    origins = Origins()
    assert _allowed(origins, "POST", **good, sec_fetch_site="same-origin")
    assert _allowed(origins, "POST", **good, sec_fetch_site="none")
    assert not _allowed(origins, "POST", **good, sec_fetch_site=site)
    assert not _allowed(origins, WEBSOCKET, **good, sec_fetch_site=site)
    assert not _allowed(
        origins, "POST", host="agio.test", origin="http://x.test", sec_fetch_site="same-origin"
    )


def test_a_browser_that_names_no_page() -> None:
    """R2: without Origin only Sec-Fetch-Site can speak for a request; for a WebSocket nothing can."""
    origins = Origins()
    assert _allowed(origins, "POST", host="agio.test", sec_fetch_site="same-origin")
    assert not _allowed(origins, "POST", host="agio.test")
    assert not _allowed(origins, WEBSOCKET, host="agio.test", cookie="x")
    assert not _allowed(origins, WEBSOCKET, host="agio.test", cookie="x", sec_fetch_site="same-origin")
    assert _allowed(origins, WEBSOCKET, host="agio.test", authorization="Bearer x")
    assert _allowed(origins, "GET", host="agio.test", origin="http://evil.example")


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("agio.example.com", True),
        ("AGIO.example.com.:443", True),
        ("localhost:8700", True),
        ("10.0.0.7", True),
        ("evil.example", False),
        ("sub.agio.example.com", False),
        ("", False),
    ],
)
def test_the_public_name_is_one_of_ours(host: str, allowed: bool) -> None:
    """R2: with --public-url a server behind TLS is called by that name alone."""
    origins = Origins(public_url=PUBLIC, behind_tls=True)
    if allowed:
        origins.check_host(_headers({"host": host}))
        return
    with pytest.raises(UserError, match="forbidden_host"):
        origins.check_host(_headers({"host": host}))


async def test_no_answer_lets_another_sites_page_read_it() -> None:
    """R2: CORS is off: no such header on anything, and a preflight is refused with a code."""
    async with house() as place, place.client() as client:
        ask = {
            "origin": "https://evil.example",
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization, content-type",
        }
        paths = {route.path.replace("{", "").replace("}", "") for route in ROUTES}
        paths |= {"/", "/realtime", "/assets/app.js", "/api/agent-sessions/x/stream", "/api/agents/x/ag-ui"}
        for path in sorted(paths):
            preflight = await client.options(path, headers=ask)
            assert preflight.status_code in (403, 404, 405, 426), path
            code_of(preflight)
            assert not [name for name in preflight.headers if name.startswith("access-control")]
        for answer in (
            await client.get("/api/me", headers=ask),
            await client.get("/api/nothing", headers=ask),
            await client.get("/", headers=ask),
        ):
            assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_every_answer_is_covered() -> None:
    """R2: pages, JSON, errors, streams' refusals: no sniffing, no frames, no referrer, nothing embedded."""
    async with house() as place, place.client() as client, place.client(None) as nobody:
        for answer in (
            await client.get("/api/me"),
            await nobody.get("/api/me"),
            await client.get("/api/nothing"),
            await client.get("/"),
            await client.get("/assets/app.js"),
            await client.get("/api/openapi.json"),
            await client.post("/api/agents", content=b"{"),
            await client.get("/api/agent-sessions/ses_x/stream"),
            await client.post("/api/agents/agt_x/ag-ui", json={}),
            await nobody.get("/api/health", headers={"host": "evil.example"}),
        ):
            assert answer.headers.get_list("x-content-type-options") == ["nosniff"], answer.url
            assert answer.headers.get_list("x-frame-options") == ["DENY"]
            assert answer.headers.get_list("referrer-policy") == ["no-referrer"]
            (policy,) = answer.headers.get_list("content-security-policy")
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert "strict-transport-security" not in answer.headers
            assert "server" not in answer.headers


async def test_behind_tls_browsers_are_told_to_stay_there() -> None:
    """R2: HSTS on every answer, and the cookie is bound to this host and to TLS."""
    async with house(origins=Origins(public_url=PUBLIC, behind_tls=True)) as place, place.client() as client:
        assert (await client.get("/api/me")).headers["strict-transport-security"] == "max-age=31536000"
        assert "strict-transport-security" in (await client.get("/nothing")).headers
        signed_in = await client.get(f"/sign-in?token={place.sign_in.token}")
        cookie = signed_in.headers["set-cookie"]
        assert cookie.startswith("__Host-agio_session=")
        for part in ("Path=/", "Secure", "HttpOnly", "SameSite=Lax"):
            assert part in cookie.split("; ")
        assert "Domain" not in cookie


async def _cookie(place: House) -> str:
    async with place.client(None) as client:
        answered = await client.get(f"/sign-in?token={place.sign_in.token}")
    return answered.headers["set-cookie"].partition(";")[0]


async def test_a_form_of_another_site_changes_nothing() -> None:
    """R2: every unsafe route with a cookie and a foreign page: refused before anything is read."""
    async with house() as place, place.client(None, {"cookie": await _cookie(place)}) as browser:
        unsafe = [route for route in ROUTES if route.method != "GET" and route.access == "user"]
        assert len(unsafe) > 10
        for route in unsafe:
            path = "".join("x" if part.startswith("{") else part for part in _parts(route.path))
            for headers in (
                {"origin": "https://evil.example"},
                {"origin": "null"},
                {"origin": ADDRESS, "sec-fetch-site": "cross-site"},
                {},
            ):
                answered = await browser.request(route.method, path, headers=headers, json={})
                assert (answered.status_code, code_of(answered)) == (403, "forbidden_origin"), route.path


def _parts(path: str) -> list[str]:
    return path.replace("{", "\n{").replace("}", "}\n").split("\n")


async def test_a_form_cannot_send_what_a_route_takes() -> None:
    """R2: what forms can send without asking (text, form fields) is no JSON."""
    async with (
        house() as place,
        place.client(None, {"cookie": await _cookie(place), "origin": ADDRESS}) as browser,
    ):
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            answered = await browser.post(
                "/api/api-keys", content=b'{"name": "x"}', headers={"content-type": kind}
            )
            assert (answered.status_code, code_of(answered)) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("own", 101),
        ("http://127.0.0.1", 403),
        ("https", 403),
        ("null", 403),
        ("http://evil.example", 403),
        ("http://sub.localhost", 403),
        (None, 403),
    ],
)
async def test_a_page_opens_a_websocket_from_our_origin_alone(origin: str | None, status: int) -> None:
    """R1, R2: over a real socket, refused before the handshake is complete."""
    async with house() as place:
        cookie = await _cookie(place)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            http = HttpServer(create_app(place.gateway), listener, max_message_bytes=2**20)
            shown = {"own": f"http://127.0.0.1:{port}", "https": f"https://127.0.0.1:{port}"}
            headers = {"cookie": cookie} | ({} if origin is None else {"origin": shown.get(origin, origin)})
            async with listening(http):
                if status == 101:
                    async with connect(
                        f"ws://127.0.0.1:{port}/realtime", additional_headers=headers, open_timeout=60
                    ) as opened:
                        await opened.send('{"type": "ping", "id": "1"}')
                        assert "pong" in str(await soon(opened.recv()))
                else:
                    with pytest.raises(InvalidStatus) as refused:
                        await connect(
                            f"ws://127.0.0.1:{port}/realtime", additional_headers=headers, open_timeout=60
                        )
                    assert refused.value.response.status_code == status
                    assert b"forbidden_origin" in (refused.value.response.body or b"")
                place.room.hub.close()


def test_which_addresses_others_can_reach() -> None:
    """R2: only loopback is this machine's own."""
    for host, public in (("127.0.0.1", False), ("localhost", False), ("0.0.0.0", True), ("::", True)):
        with listen(host, 0) as sock:
            assert is_public(sock) is public


async def test_figures_are_for_this_machine_or_a_credential() -> None:
    """S13: a proxy on this machine does not make its clients near, and behind TLS nobody is."""
    near = ("127.0.0.1", 5000)
    async with house() as place:
        transport = httpx.ASGITransport(place.app, client=near)
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS) as client:
            assert (await client.get("/metrics")).status_code == 200
            for name in ("x-forwarded-for", "forwarded"):
                assert (await client.get("/metrics", headers={name: "127.0.0.1"})).status_code == 401
            key = {"authorization": f"Bearer {place.keys['ann']}", "x-forwarded-for": "198.51.100.1"}
            assert (await client.get("/metrics", headers=key)).status_code == 200
        async with place.client(None) as far:
            assert (await far.get("/metrics", headers={"x-forwarded-for": "127.0.0.1"})).status_code == 401
    async with house(origins=Origins(behind_tls=True)) as place:
        transport = httpx.ASGITransport(place.app, client=near)
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS) as client:
            assert (await client.get("/metrics")).status_code == 401
