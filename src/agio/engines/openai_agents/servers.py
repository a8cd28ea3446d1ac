"""The MCP servers of SDK agents: connected by the first run that needs them, until the worker stops."""

import asyncio
from collections.abc import Sequence

from agents.mcp import MCPServer, MCPServerManager

from agio.errors import UpstreamError

_MANAGER = "_agio_manager"
"""The attribute of a server that holds its manager: several agents may share a server."""


class Servers:
    """The MCP servers of one agent."""

    def __init__(self, servers: Sequence[MCPServer]) -> None:
        self._servers = servers
        self._lock = asyncio.Lock()

    async def connect(self) -> None:
        """Connect those that are not connected. Raises UpstreamError `mcp_unreachable`."""
        async with self._lock:
            for server in self._servers:
                if _MANAGER in vars(server):
                    continue
                # In a task of its own, which also ends the connection: that of the run may be cancelled.
                manager = MCPServerManager([server], connect_in_parallel=True)
                await manager.connect_all()
                if manager.errors:
                    [error] = manager.errors.values()
                    await manager.cleanup_all()
                    raise UpstreamError(
                        "mcp_unreachable",
                        f"The MCP server {server.name} cannot be reached: {type(error).__name__}: {error}.",
                    )
                vars(server)[_MANAGER] = manager

    async def aclose(self) -> None:
        """End the connections."""
        for server in self._servers:
            manager = vars(server).pop(_MANAGER, None)
            if isinstance(manager, MCPServerManager):
                await manager.cleanup_all()
