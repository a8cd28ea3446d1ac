"""The connections of a gateway to MCP servers: one for each team, server, credential and version."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from agio.core.mcp import McpOffer
from agio.egress import Egress
from agio.errors import LimitExceeded, UpstreamError
from agio.tools.mcp.link import Target

if TYPE_CHECKING:
    from agio.tools.mcp.connection import Connection

_MOST = 500
_STEADY_S = 60.0
"""A process that ran this long did not fail at its start."""
_FIRST_DELAY_S = 0.5
_LONGEST_DELAY_S = 30.0
_PATIENCE_S = 2.0
"""A call waits this long for a process to be restarted."""


class McpPool:
    """Opens connections when they are needed, and keeps them while they are used."""

    def __init__(
        self, egress: Egress, on_catalogue: Callable[[Target, Sequence[McpOffer]], Awaitable[None]]
    ) -> None:
        self._egress = egress
        self._on_catalogue = on_catalogue
        self._connections: dict[tuple[str, str, str, int], Connection] = {}
        self._open: set[Connection] = set()
        """Also those that end when their calls are done."""
        self._starts: dict[tuple[str, str], tuple[float, float]] = {}
        """When a process was started last, and the delay before the next start."""
        self._closed = False

    async def get(self, target: Target) -> "Connection":
        """Return the connection to a target, which may still be connecting.

        Raises UpstreamError `upstream_unreachable`; LimitExceeded `too_many_connections`.
        """
        known = self._connections.get(target.key)
        if known is None or known.retired:
            await self._prepare(target)
            known = self._connections.get(target.key)  # another call may have opened it meanwhile
        if known is None or known.retired:
            self._forget_others(target)
            known = self._connections[target.key] = self._connect(target)
        return known

    async def open(self, target: Target) -> "Connection":
        """Open a connection of one's own, which one closes. Raises as `get` does."""
        await self._prepare(target)
        return self._connect(target)

    def forget(self, tenant: str, server_id: str) -> None:
        """End the connections to a server when their calls are done: it was changed or deleted."""
        for key in [key for key in self._connections if key[:2] == (tenant, server_id)]:
            self._connections.pop(key).retire()

    async def close(self) -> None:
        """End every connection and process."""
        self._closed = True
        await asyncio.gather(*(connection.close() for connection in list(self._open)))

    async def _prepare(self, target: Target) -> None:
        # The package takes most of a second to import, which must not hold up the loop.
        await asyncio.to_thread(import_module, "agio.tools.mcp.connection")
        if target.command is None:
            return
        key, now = (target.tenant, target.server_id), time.monotonic()
        started, delay = self._starts.get(key, (-_STEADY_S, 0.0))
        if now - started >= _STEADY_S:
            delay = 0.0
        elif (wait := started + delay - now) > _PATIENCE_S:
            raise UpstreamError(
                "upstream_unreachable",
                f"{target.name} ended right after its start; it is started again in {wait:.0f} s.",
                {"sent": False},
            )
        else:
            await asyncio.sleep(max(0.0, wait))
        longer = min(_LONGEST_DELAY_S, max(_FIRST_DELAY_S, 2 * delay))
        self._starts[key] = time.monotonic(), longer

    def _connect(self, target: Target) -> "Connection":
        from agio.tools.mcp.connection import Connection

        if self._closed:
            raise UpstreamError("upstream_unreachable", "The server is stopping.", {"sent": False})
        if len(self._open) >= _MOST:
            self._make_room()
        made = Connection(target, self._egress, self._on_catalogue, self._open.discard)
        self._open.add(made)
        return made

    def _make_room(self) -> None:
        """End the connection that was not used for longest. Raises LimitExceeded."""
        idle = [one for one in self._connections.values() if not one.busy and not one.retired]
        if not idle:
            raise LimitExceeded(
                "too_many_connections",
                f"This server has {_MOST} connections to MCP servers: try again later.",
            )
        min(idle, key=lambda one: one.used_at).retire()

    def _forget_others(self, target: Target) -> None:
        """End the connections with an earlier version of the server."""
        for key in list(self._connections):
            if key[:3] == target.key[:3] and (key != target.key or self._connections[key].retired):
                self._connections.pop(key).retire()
