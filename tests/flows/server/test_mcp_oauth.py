"""Runs whose tools need a connection that the person does not have, and then has."""

from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import httpx

from agio.protocol.codec import decode_lines
from agio.protocol.events import RunFinished
from agio.testing import Call, Reply
from tests.flows.server.home import Home, open_home
from tests.flows.server.talk import open_talk
from tests.flows.server.test_mcp import results
from tests.support.mcp_server import digest
from tests.support.oauth_server import authorized_server
from tests.support.served import LinkKind


async def connect(home: Home, server_id: str) -> None:
    """Press Connect, and allow it."""
    url = str((await home.ask("POST", f"/api/mcp-servers/{server_id}/connect"))["authorization_url"])
    async with httpx.AsyncClient() as browser:
        place = urlsplit((await browser.get(url)).headers["location"])
    async with home.http.get(f"{home.url}{place.path}?{place.query}", allow_redirects=False) as answer:
        assert answer.status == 303
        assert answer.headers["location"].endswith("?connected=1")


async def test_a_run_goes_on_when_its_tool_is_not_connected(database: str | Path, link: LinkKind) -> None:
    """C4: the call is a result with a code and the place of the button, and is said once more after Connect."""
    async with (
        authorized_server() as (server, fixture),
        open_home(database, link, egress_allow=["127.0.0.1"]) as home,
    ):
        body = {"name": "shop", "server_url": fixture.url, "auth": "oauth"}
        server_id = str((await home.ask("POST", "/api/mcp-servers", body, expect=201))["id"])
        await connect(home, server_id)
        await home.ask("POST", f"/api/mcp-servers/{server_id}/check")
        found = await home.ask("GET", f"/api/mcp-servers/{server_id}")
        tools = cast("list[dict[str, str]]", found["tools"])
        who = next(tool["id"] for tool in tools if tool["name"] == "who")
        path = f"/api/mcp-servers/{server_id}/tools/{who}"
        await home.ask("PUT", path, {"enabled": True, "approval": "never"})
        await home.ask("DELETE", f"/api/mcp-servers/{server_id}/connection", expect=204)
        talk = await open_talk("sse", home, await home.create_agent(tools=["shop_who"]))
        for connected in (False, True):
            if connected:
                await connect(home, server_id)
            calls = [Reply(tool_calls=[Call("shop_who", {})]), Reply("So.")]
            home.model.script(*calls)
            lines = await talk.say("Who?")
            [(content, error)] = results(lines)
            if connected:
                assert (content, error) == (digest(list(server.access)[-1]), None)
            else:
                assert error == "mcp_not_connected"
                assert f"/settings/mcp-servers/{server_id}" in str(content)
            assert isinstance(decode_lines(b"".join(lines))[-1], RunFinished)
