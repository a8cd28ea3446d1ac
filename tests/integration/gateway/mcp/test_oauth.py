"""Connecting to MCP servers by OAuth: Connect, calls with the token, renewals, ends, and providers that are hostile."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.support.mcp_house import McpHouse, mcp_house
from tests.support.mcp_server import digest
from tests.support.oauth_server import AuthorizationServer, authorized_server

OAUTH: dict[str, Any] = {"auth": "oauth"}


async def add(house: McpHouse, url: str, **fields: object) -> str:
    """Add a server that people connect to; returns its id."""
    body = {"name": "shop", "server_url": url, **OAUTH, **fields}
    return str((await house.ask("POST", "/api/mcp-servers", body, expect=201))["id"])


async def start(house: McpHouse, server_id: str) -> str:
    """Press Connect; returns where the browser goes."""
    return (await house.ask("POST", f"/api/mcp-servers/{server_id}/connect"))["authorization_url"]


async def come_back(house: McpHouse, url: str, **changed: str) -> str:
    """Go to the authorization server and come back; returns where agio sends the browser."""
    async with httpx.AsyncClient() as browser:
        place = urlsplit((await browser.get(url)).headers["location"])
    assert f"{place.scheme}://{place.netloc}" == house.server.url
    query = {name: values[0] for name, values in parse_qs(place.query).items()} | changed
    answer = await house.client.get(place.path, params=query)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


async def connect(house: McpHouse, server_id: str) -> None:
    """Press Connect, and allow it."""
    back = await come_back(house, await start(house, server_id))
    assert back == f"/settings/mcp-servers/{server_id}?connected=1"


async def connection(house: McpHouse, server_id: str) -> dict[str, Any]:
    """What the page shows of the connection."""
    return (await house.ask("GET", f"/api/mcp-servers/{server_id}"))["oauth"]


async def connected(house: McpHouse, server: AuthorizationServer, **fields: object) -> str:
    """A connected server with its tools `who` and `leak` on; returns its id."""
    server_id = await add(house, server.mcp_url, **fields)
    await connect(house, server_id)
    checked = await house.ask("POST", f"/api/mcp-servers/{server_id}/check")
    assert checked["reachable"], checked
    await house.enable(server_id, "who", "leak", effect="read")
    return server_id


async def test_a_person_connects_and_calls_with_a_token_that_was_made_for_the_server(tmp_path: Path) -> None:
    """C4: PKCE, `resource`, `iss`; no token is shown or echoed; one client is registered; disconnecting revokes."""
    async with authorized_server() as (server, fixture), mcp_house(tmp_path) as house:
        server_id = await add(house, server.mcp_url)
        checked = await house.ask("POST", f"/api/mcp-servers/{server_id}/check")
        assert checked["error"]["code"] == "mcp_not_connected"
        assert (server.asked, fixture.lists) == ([], 0)
        await connect(house, server_id)
        await house.ask("POST", f"/api/mcp-servers/{server_id}/check")
        await house.enable(server_id, "who", "leak", effect="read")
        [token] = server.access
        assert (await house.call("shop_who"))["content"] == digest(token)
        assert (await house.call("shop_leak"))["content"] == "your token is [secret]"
        shown = await connection(house, server_id)
        assert (shown["scope"], shown["connected"], shown["issuer"]) == ("user", True, server.url)
        assert (shown["error"], shown["expires_at"] > 0) == (None, True)
        assert token not in (await house.client.get("/api/mcp-servers")).text
        await connect(house, server_id)
        assert len(server.clients) == 1
        await house.ask("DELETE", f"/api/mcp-servers/{server_id}/connection", expect=204)
        assert len(server.revoked) == 1
        refused = await house.call("shop_who")
        assert refused["error"]["code"] == "mcp_not_connected"
        assert f"/settings/mcp-servers/{server_id}" in refused["content"]
        assert not (await connection(house, server_id))["connected"]


async def test_a_refused_token_is_renewed_once_and_an_ended_grant_asks_to_connect_again(
    tmp_path: Path,
) -> None:
    """C4: a 401 costs one renewal, also if it comes again; a revoked grant marks the connection."""
    async with authorized_server() as (server, _), mcp_house(tmp_path) as house:
        server_id = await connected(house, server)
        server.expire_access()
        assert (await house.call("shop_who"))["content"] == digest(next(iter(server.access)))
        assert server.renewals == 1
        server.expire_access()
        assert (await house.call("shop_who"))["error"]["code"] == "mcp_unauthorized"
        assert server.renewals == 1
        await connect(house, server_id)
        server.end_grants()
        assert (await house.call("shop_who"))["error"]["code"] == "mcp_not_connected"
        shown = await connection(house, server_id)
        assert (shown["connected"], "Press Connect" in shown["error"]) == (False, True)
        await connect(house, server_id)
        assert (await house.call("shop_who"))["ok"]


async def test_a_team_is_connected_by_one_person_for_all_and_tokens_do_not_follow_a_new_address(
    tmp_path: Path,
) -> None:
    """C4: the team's own client with its secret goes to its issuer alone."""
    async with authorized_server() as (server, _), mcp_house(tmp_path) as house:
        oauth = {
            "scope": "team",
            "client_id": "agio",
            "client_secret": "s3cret-of-agio",
            "issuer": server.url,
        }
        server_id = await connected(house, server, oauth=oauth)
        assert server.asked[-1]["client_secret"] == "s3cret-of-agio"
        assert server.clients == {}
        shown = await connection(house, server_id)
        assert (shown["scope"], shown["connected"], shown["client_id"]) == ("team", True, "agio")
        server.metadata = {"issuer": "https://other.example"}
        failed = await house.ask("POST", f"/api/mcp-servers/{server_id}/connect", expect=502)
        assert failed["error"]["code"] == "mcp_oauth_failed"
        body = {"name": "shop", "server_url": server.mcp_url.replace("/mcp", "/other"), **OAUTH}
        await house.ask("PUT", f"/api/mcp-servers/{server_id}", body)
        assert not (await connection(house, server_id))["connected"]
        body = {"name": "shop", "server_url": server.mcp_url, "auth": "none"}
        await house.ask("PUT", f"/api/mcp-servers/{server_id}", body)
        failed = await house.ask("POST", f"/api/mcp-servers/{server_id}/connect", expect=409)
        assert failed["error"]["code"] == "mcp_not_oauth"


async def test_the_way_back_is_taken_once_and_from_the_right_server(tmp_path: Path) -> None:
    """C4: a wrong state or issuer, a missing one, a denial, a code that is not its own: nothing is kept."""
    async with authorized_server() as (server, _), mcp_house(tmp_path) as house:
        server_id = await add(house, server.mcp_url)
        page = f"/settings/mcp-servers/{server_id}"
        url = await start(house, server_id)
        assert await come_back(house, url, state="wrong") == "/settings/mcp-servers?error=invalid_oauth_state"
        assert await come_back(house, url, iss="https://evil.example") == f"{page}?error=invalid_oauth_state"
        assert await come_back(house, url) == "/settings/mcp-servers?error=invalid_oauth_state"
        server.says_issuer = ""
        assert await come_back(house, await start(house, server_id)) == f"{page}?error=invalid_oauth_state"
        server.says_issuer = None
        assert server.asked == []
        assert (
            await come_back(house, await start(house, server_id), code="x")
            == f"{page}?error=mcp_oauth_failed"
        )
        server.allows = False
        assert await come_back(house, await start(house, server_id)) == f"{page}?error=mcp_oauth_denied"
        assert not (await connection(house, server_id))["connected"]


@pytest.mark.parametrize(
    ("metadata", "resource", "code"),
    [
        ({"token_endpoint": "file:///etc/passwd"}, {}, "mcp_oauth_failed"),
        ({"authorization_endpoint": "--flag"}, {}, "mcp_oauth_failed"),
        ({"authorization_endpoint": "javascript:alert(1)"}, {}, "mcp_oauth_failed"),
        ({"authorization_endpoint": "http://example.com/"}, {}, "mcp_oauth_failed"),
        ({"authorization_endpoint": "https://10.0.0.1/"}, {}, "mcp_oauth_failed"),
        ({"registration_endpoint": "https://169.254.169.254/"}, {}, "mcp_oauth_failed"),
        ({"registration_endpoint": "ELSEWHERE"}, {}, "mcp_oauth_failed"),
        ({"issuer": "https://as.example"}, {}, "mcp_oauth_failed"),
        ({"code_challenge_methods_supported": ["plain"]}, {}, "mcp_oauth_failed"),
        ({"token_endpoint": 7}, {}, "mcp_oauth_failed"),
        ({"registration_endpoint": None}, {}, "mcp_client_required"),
        ({}, {"resource": "https://other.example/mcp"}, "mcp_oauth_failed"),
        ({}, {"authorization_servers": ["file:///x"]}, "mcp_oauth_failed"),
        ({}, {"authorization_servers": ["https://10.0.0.1"]}, "mcp_oauth_failed"),
    ],
)
async def test_hostile_metadata_begins_nothing(
    tmp_path: Path, metadata: dict[str, Any], resource: dict[str, Any], code: str
) -> None:
    """C4: addresses that are no https, private ones, another issuer or resource, no PKCE."""
    async with authorized_server() as (server, _), mcp_house(tmp_path) as house:
        places = {"ELSEWHERE": f"{server.url}/elsewhere"}
        server.metadata = {name: places.get(str(value), value) for name, value in metadata.items()}
        server.resource = resource
        server_id = await add(house, server.mcp_url)
        status = 502 if code == "mcp_oauth_failed" else 422
        failed = await house.ask("POST", f"/api/mcp-servers/{server_id}/connect", expect=status)
        assert failed["error"]["code"] == code
        assert server.asked == []


async def test_tokens_that_cannot_be_used_are_not_kept(tmp_path: Path) -> None:
    """C4: a token endpoint that redirects gets no code, and one without a lifetime makes a connection that lasts."""
    async with authorized_server() as (server, _), mcp_house(tmp_path) as house:
        server_id = await add(house, server.mcp_url)
        server.metadata = {"token_endpoint": f"{server.url}/elsewhere"}
        back = await come_back(house, await start(house, server_id))
        assert back == f"/settings/mcp-servers/{server_id}?error=mcp_oauth_failed"
        server.metadata, server.lifetime_s, server.refreshes = {}, "soon", False
        await connect(house, server_id)
        assert (await connection(house, server_id))["expires_at"] is None
        await house.ask("POST", f"/api/mcp-servers/{server_id}/check")
        await house.enable(server_id, "who", effect="read")
        assert (await house.call("shop_who"))["ok"]
        server.expire_access()
        assert (await house.call("shop_who"))["error"]["code"] == "mcp_not_connected"
        assert server.renewals == 0


async def test_a_body_says_one_way_to_sign_in(tmp_path: Path) -> None:
    """C4: a token beside OAuth, or a client secret of no issuer, is refused."""
    async with mcp_house(tmp_path) as house:
        wrong: list[dict[str, object]] = [
            {"auth": "oauth", "bearer_token": "abc"},
            {"auth": "none", "oauth": {}},
            {"auth": "oauth", "oauth": {"client_id": "a", "client_secret": "b"}},
            {"auth": "bearer"},
        ]
        for fields in wrong:
            body = {"name": "shop", "server_url": "https://example.com/mcp", **fields}
            await house.ask("POST", "/api/mcp-servers", body, expect=422)
