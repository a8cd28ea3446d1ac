"""Servers that are unreachable, slow, lying or changing: each costs its own call, with a code and words that help."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from agio.gateway.auth.authenticator import describe_key, hash_secret, new_api_key
from tests.support.canary import canary
from tests.support.mcp_hostile import hostile_server
from tests.support.mcp_house import McpHouse, mcp_house
from tests.support.mcp_server import digest, fixture_server
from tests.support.node import NODE, NODE_FOLDER
from tests.support.ports import free_port

TEAMS = 50


async def test_what_is_wrong_with_an_address_is_said(tmp_path: Path) -> None:
    """C4: unreachable, no MCP, refusing, redirecting elsewhere, silent, lying, packing: a code and words for each."""
    async with hostile_server() as hostile, canary() as bird, mcp_house(tmp_path) as house:
        hostile.elsewhere = f"{bird.url}/mcp"

        async def test(url: str, **fields: object) -> tuple[str, str]:
            tested = await house.ask("POST", "/api/mcp-servers/test", {"server_url": url, **fields})
            error: dict[str, Any] = tested["error"] or {"code": "", "message": ""}
            return error["code"], error["message"]

        assert await test(f"{hostile.url}/good") == ("", "")
        assert await test(f"{hostile.url}/moved") == ("", "")
        for path, code, words in (
            ("html", "mcp_error", "content type"),
            ("refused", "mcp_unauthorized", "Enter them anew"),
            ("redirect", "mcp_error", "not followed"),
            ("zipped", "upstream_invalid", "encoding"),
            ("nonsense", "upstream_invalid", "is not MCP"),
            ("deep", "upstream_invalid", "is not MCP"),
            ("silent", "upstream_timeout", "did not answer"),
        ):
            found = await test(f"{hostile.url}/{path}")
            assert (found[0], words in found[1]) == (code, True), (path, found)
        code, _ = await test(f"http://127.0.0.1:{free_port()}/mcp")
        assert code == "upstream_unreachable"
        code, _ = await test(f"{bird.url}/mcp", transport="sse")
        assert code in ("upstream_invalid", "mcp_error")
        assert bird.calls[0].target == "/mcp"
        assert len(bird.calls) == 1  # the redirect was not followed


async def test_only_allowed_addresses_are_connected_to(tmp_path: Path) -> None:
    """C4: by the guard, on each connection; a private address is refused when it is entered."""
    async with canary() as bird, mcp_house(tmp_path, allow="10.255.0.1") as house:
        for url in (f"{bird.url}/mcp", "http://localhost/mcp", "ftp://example.com/"):
            for path, body in (("", {"name": "a", "server_url": url}), ("/test", {"server_url": url})):
                refused = await house.ask("POST", f"/api/mcp-servers{path}", body, expect=422)
                assert refused["error"]["code"] == "egress_refused"
                assert ("AGIO_EGRESS_ALLOW" in refused["error"]["message"]) == url.startswith("http")
        assert bird.connections == 0


async def test_calls_of_a_hostile_server_end_in_time_and_hurt_no_others(tmp_path: Path) -> None:
    """C4: what it sends is bounded, what it leaves out is waited for no longer than was said, the loop goes on."""
    async with hostile_server() as hostile, mcp_house(tmp_path) as house:
        expected = {
            "slow": ("upstream_timeout", "took longer"),
            "huge": ("upstream_too_large", "bytes"),
            "huge-event": ("upstream_unreachable", ""),
            "flood": ("upstream_timeout", "took longer"),
            "wrong-id": ("upstream_timeout", "took longer"),
            "liar": ("upstream_invalid", "is not MCP"),
            "error": ("mcp_error", "such thing"),
            "dies": ("upstream_invalid", "not HTTP"),
            "crash": ("mcp_error", "error response"),
        }
        for kind in expected:
            name = kind.replace("-", "_")
            late = expected[kind][0] == "upstream_timeout"
            server_id = await house.add(f"{hostile.url}/{kind}", name, timeout_s=1.0 if late else 60.0)
            await house.enable(server_id, "do", effect="read")
        good = await house.add(f"{hostile.url}/good", "good", timeout_s=60.0)
        await house.enable(good, "do", effect="read")
        calls = {kind: house.call(f"{kind.replace('-', '_')}_do") for kind in expected}
        goods = [house.call("good_do") for _ in range(20)]
        said = await asyncio.gather(*calls.values(), *goods)
        hostile.gone.set()
        for (kind, (code, words)), answer in zip(expected.items(), said, strict=False):
            assert answer["error"] is not None, (kind, answer)
            found = (answer["error"]["code"], words in str(answer["content"]))
            assert found == (code, True), (kind, answer)
        assert [answer["content"] for answer in said[len(expected) :]] == ["done"] * 20
        once = await house.add(f"{hostile.url}/dies", "once", timeout_s=60.0)
        await house.enable(once, "do", effect="once")
        assert (await house.call("once_do"))["error"]["code"] == "unknown"


async def test_tools_beyond_bounds_are_listed_and_cannot_be_enabled(tmp_path: Path) -> None:
    """C4: with the reason; names are made fit for models; a list without an end has one."""
    async with hostile_server() as hostile, mcp_house(tmp_path) as house:
        server_id = await house.add(f"{hostile.url}/bounds")
        tools = await house.tools(server_id)
        assert len(tools) == 6
        assert tools["do"]["offered"]["description"] == "Do it."
        problems = {name: tool["problem"] for name, tool in tools.items() if tool["problem"]}
        assert set(problems) == {"long", "wide"}
        for name in ("long", "wide", "wrong"):
            path = f"/api/mcp-servers/{server_id}/tools/{tools[name]['id']}"
            refused = await house.ask("PUT", path, {"enabled": True}, expect=422)
            assert refused["error"]["code"] == "mcp_tool_unusable", name
        odd, long = (name for name in tools if name.startswith(("we", "x")))
        await house.enable(server_id, odd, long, effect="read")
        named = await house.tools(server_id)
        assert named[odd]["tool"] == "shop_we_ird_n_me"
        assert len(named[long]["tool"]) == 64
        many = await house.add(f"{hostile.url}/many", "many")
        assert len(await house.tools(many)) == 500
        assert len(await house.tools(await house.add(f"{hostile.url}/endless-list", "endless"))) == 1


@pytest.mark.parametrize("old", [False, True])
async def test_fifty_teams_at_once_get_their_own_answers(tmp_path: Path, old: bool) -> None:
    """C4: with the same names, addresses and request ids, each team's connection has its own credential."""
    async with fixture_server(old=old) as fixture, mcp_house(tmp_path) as house:
        async with asyncio.TaskGroup() as group:
            teams = [group.create_task(_team(house, fixture.url, number)) for number in range(TEAMS)]
        clients = [team.result() for team in teams]

        async def ask(client: McpHouse, number: int) -> None:
            said = await client.call("shop_who")
            assert said["content"] == digest(f"token-of-{number:04}")

        await asyncio.gather(
            *(ask(client, number) for number, client in enumerate(clients) for _ in range(3))
        )
        assert len(fixture.request_ids) == 3 * TEAMS
        assert len(set(fixture.request_ids)) < TEAMS  # the ids were the same
        for client in clients:
            await client.client.aclose()


async def _team(house: McpHouse, url: str, number: int) -> McpHouse:
    """A team with a server of its own token."""
    tenant, key = f"team{number}", new_api_key()
    await house.store.add_tenant(tenant, tenant)
    await house.store.add_user(tenant, "ann", "Ann", "admin")
    await house.store.add_api_key(describe_key(key, tenant, "ann", "test"), hash_secret(key))
    client = httpx.AsyncClient(
        base_url=house.server.url, headers={"authorization": f"Bearer {key}"}, timeout=120
    )
    own = McpHouse(house.server, client)
    server_id = await own.add(url, bearer_token=f"token-of-{number:04}")
    await own.enable(server_id, "who", effect="read")
    return own


async def test_a_restarted_server_is_noticed(tmp_path: Path) -> None:
    """C4: the reference server forgets its sessions when it restarts; the next call opens another."""
    script = (
        NODE_FOLDER / "node_modules" / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    )
    port = free_port()

    async def start() -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            NODE or "node",
            str(script),
            "streamableHttp",
            env={"PORT": str(port)},
            stderr=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(60):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.05)
                else:
                    writer.close()
                    return process

    async with mcp_house(tmp_path) as house:
        process = await start()
        try:
            server_id = await house.add(f"http://127.0.0.1:{port}/mcp", "all")
            await house.enable(server_id, "echo")
            assert (await house.call("all_echo", {"message": "a"}))["content"] == "Echo: a"
            process.kill()
            await process.wait()
            process = await start()
            assert (await house.call("all_echo", {"message": "b"}))["content"] == "Echo: b"
        finally:
            process.kill()
            await process.wait()
