"""A team that adds an MCP server and calls its tools: the client that the official conformance suite starts.

The team's agio is at SUITE_AGIO. The suite gives the server's address as the last argument, and the scenario in
MCP_CONFORMANCE_SCENARIO. In those of OAuth a person connects, and again where a call says so. A server that cannot be
connected to ends it with status 1.
"""

import asyncio
import json
import os
import sys
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.support.mcp_house import McpTeam
from tests.support.served import KEY


async def _use(url: str) -> int:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    given: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    has_document = scenario == "auth/basic-cimd"
    base = os.environ["SUITE_AGIO_WITH_DOCUMENT" if has_document else "SUITE_AGIO"]
    headers = {"authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(base_url=base, headers=headers, timeout=60) as client:
        team = McpTeam(client)
        body: dict[str, object] = {"name": f"suite{os.getpid()}", "server_url": url}
        if scenario.startswith("auth/"):
            body |= {"auth": "oauth", "oauth": _client(given, url)}
        server_id = str((await team.ask("POST", "/api/mcp-servers", body, expect=201))["id"])
        try:
            if "auth" in body and not await _connect(team, server_id):
                return 1
            return await _call(team, server_id, given)
        finally:  # the suite's server waits until its connections are closed
            await team.ask("DELETE", f"/api/mcp-servers/{server_id}", expect=204)


def _client(given: dict[str, Any], url: str) -> dict[str, object]:
    """A client that was registered before, which goes to its issuer alone."""
    if "client_id" not in given:
        return {}
    target = urlsplit(url)
    issuer = given.get("issuer") or f"{target.scheme}://{target.netloc}"
    return {"client_id": given["client_id"], "client_secret": given["client_secret"], "issuer": issuer}


async def _connect(team: McpTeam, server_id: str) -> bool:
    """Press Connect, allow it, and come back."""
    begun = await team.client.post(f"/api/mcp-servers/{server_id}/connect")
    if not begun.is_success:
        print(begun.text)
        return False
    async with httpx.AsyncClient() as browser:
        left = await browser.get(begun.json()["authorization_url"])
    place = urlsplit(left.headers["location"])
    back = await team.client.get(f"{place.path}?{place.query}")
    print(back.headers["location"])
    return back.headers["location"].endswith("?connected=1")


async def _call(team: McpTeam, server_id: str, given: dict[str, Any]) -> int:
    """Call every tool: as the scenario says, else once with the arguments its schema requires."""
    checked = await team.ask("POST", f"/api/mcp-servers/{server_id}/check")
    if _must_connect(checked) and await _connect(team, server_id):
        checked = await team.ask("POST", f"/api/mcp-servers/{server_id}/check")
    print(checked)
    tools = await team.tools(server_id)
    calls: list[dict[str, Any]] = given.get("toolCalls") or [
        {"name": name, "arguments": _arguments(tool["offered"]["parameters"])} for name, tool in tools.items()
    ]
    usable = {name for name, tool in tools.items() if not tool["problem"]}
    await team.enable(server_id, *sorted(usable & {call["name"] for call in calls}), effect="read")
    named = await team.tools(server_id)
    for call in calls:
        if call["name"] not in usable:
            continue
        tool = named[call["name"]]["tool"]
        # A schema without null takes none: what is null is left out.
        arguments = {name: value for name, value in call["arguments"].items() if value is not None}
        answer = await team.call(tool, arguments)
        if _must_connect(answer) and await _connect(team, server_id):
            answer = await team.call(tool, arguments)
        print(answer)
    return 0 if checked["reachable"] else 1


def _must_connect(answer: dict[str, Any]) -> bool:
    """Whether a person must press Connect for it."""
    return answer["error"] is not None and answer["error"]["code"] == "mcp_not_connected"


def _arguments(schema: dict[str, Any]) -> dict[str, object]:
    values: dict[str, object] = {
        "number": 2,
        "integer": 2,
        "boolean": True,
        "string": "a",
        "object": {},
        "array": [],
    }
    fields: dict[str, dict[str, Any]] = schema.get("properties") or {}
    return {name: values.get(str(field.get("type")), "a") for name, field in fields.items()}


if __name__ == "__main__":
    sys.exit(asyncio.run(_use(sys.argv[-1])))
