"""The official Python client of MCP, connected to a server of the tests."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias, cast

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

Mode: TypeAlias = Literal["auto", "legacy"]
VERSIONS: dict[Mode, str] = {"auto": "2026-07-28", "legacy": "2025-11-25"}
"""What is spoken: by asking the server first, or after the older handshake."""


@asynccontextmanager
async def mcp_client(url: str, headers: Mapping[str, str], mode: Mode) -> AsyncGenerator[Client]:
    """Connect to a server's `/mcp`."""
    async with (
        httpx2.AsyncClient(headers=dict(headers)) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def said(result: CallToolResult) -> str:
    """Return a result's text."""
    return "".join(part.text for part in result.content if isinstance(part, TextContent))


def outcome(result: CallToolResult) -> dict[str, Any]:
    """Return a result's structured content."""
    return cast("dict[str, Any]", result.structured_content)
