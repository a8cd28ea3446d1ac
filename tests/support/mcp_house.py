"""A server on a real socket, and somebody who has MCP servers by REST."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from agio.tools.mcp.link import Command
from tests.support.served import Served, served


class McpTeam:
    """A team that has MCP servers, by REST."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def ask(self, method: str, path: str, body: object = None, *, expect: int = 200) -> dict[str, Any]:
        """Call the API; the status must be the expected one."""
        answer = await self.client.request(method, path, json=body)
        assert answer.status_code == expect, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else {}

    async def add(self, url: str, name: str = "shop", **fields: object) -> str:
        """Add a server and check it; returns its id."""
        body = {"name": name, "server_url": url, **fields}
        server_id = str((await self.ask("POST", "/api/mcp-servers", body, expect=201))["id"])
        checked = await self.ask("POST", f"/api/mcp-servers/{server_id}/check")
        assert checked["reachable"], checked
        return server_id

    async def tools(self, server_id: str) -> dict[str, dict[str, Any]]:
        """The tools of a server, by the server's names."""
        found = await self.ask("GET", f"/api/mcp-servers/{server_id}")
        return {tool["name"]: tool for tool in found["tools"]}

    async def enable(self, server_id: str, *names: str, **fields: object) -> None:
        """Enable tools; they do not ask, unless it is said."""
        tools = await self.tools(server_id)
        for name in names:
            path = f"/api/mcp-servers/{server_id}/tools/{tools[name]['id']}"
            await self.ask("PUT", path, {"enabled": True, "approval": "never", **fields})

    async def call(self, tool: str, arguments: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Call a tool outside a run."""
        return await self.ask(
            "POST", "/api/tools/execute", {"tool": tool, "arguments": dict(arguments or {})}
        )


class McpHouse(McpTeam):
    """The server, and a client of user `local`, who is an owner."""

    def __init__(self, server: Served, client: httpx.AsyncClient) -> None:
        super().__init__(client)
        self.server = server
        self.store = server.gateway.store


@asynccontextmanager
async def mcp_house(
    database: Path | str,
    *,
    commands: Mapping[str, Command] | None = None,
    allow: str = "127.0.0.1",
    public_url: str | None = None,
) -> AsyncGenerator[McpHouse]:
    """Open the house; it may call this machine."""
    async with (
        served(database, egress_allow=[allow], commands=commands or {}, public_url=public_url) as server,
        httpx.AsyncClient(base_url=server.url, headers=server.headers, timeout=60) as client,
    ):
        yield McpHouse(server, client)
