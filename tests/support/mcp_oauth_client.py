"""A person who adds an MCP server, connects to it and calls its tools: the client that the conformance suite starts.

The suite gives the server's address as the last argument. A server that cannot be connected to ends it with status 1.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.support.mcp_house import mcp_house


async def _connect(url: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        async with mcp_house(Path(folder), allow="localhost") as house, httpx.AsyncClient() as browser:
            body = {"name": "suite", "server_url": url, "auth": "oauth"}
            server_id = (await house.ask("POST", "/api/mcp-servers", body, expect=201))["id"]
            path = f"/api/mcp-servers/{server_id}"
            begun = await house.client.post(f"{path}/connect")
            if not begun.is_success:
                return 1
            left = await browser.get(begun.json()["authorization_url"])
            place = urlsplit(left.headers["location"])
            back = await house.client.get(f"{place.path}?{place.query}")
            if not back.headers["location"].endswith("?connected=1"):
                return 1
            await house.ask("POST", f"{path}/check")
            for name in await house.tools(server_id):
                await house.enable(server_id, name, effect="read")
                await house.call((await house.tools(server_id))[name]["tool"])
            return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(_connect(sys.argv[-1])))
