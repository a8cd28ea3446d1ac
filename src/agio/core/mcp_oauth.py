"""OAuth connections to MCP servers: records, and the store port. Used by tools/mcp/oauth/.

A connection is a user's, or with the owner "" the team's. Its tokens are sealed for its id and issuer, so those of one
authorization server never open as another's.
"""

from typing import Protocol

from msgspec import Struct

from agio.core.provider import Sealed, SecretPlace

CLIENTS = "/clients"
"""Follows a server's id where the clients that agio registered for it are kept, by issuer."""


class McpConnection(Struct, frozen=True, kw_only=True):
    """A connection in the store. Times are milliseconds since 1970."""

    id: str
    server_id: str
    owner: str
    issuer: str
    version: int
    """Grows with every change of the tokens."""
    expires_at: int | None
    """When the access token expires; None: unknown."""
    error: str | None
    """Why it must be connected again; None: it works."""
    updated_at: int
    tokens: Sealed | None = None

    @property
    def connected(self) -> bool:
        """Whether it has tokens that may work."""
        return self.error is None


def tokens_place(tenant: str, connection_id: str, issuer: str) -> SecretPlace:
    """Return the place of a connection's tokens."""
    return SecretPlace(tenant, connection_id, f"tokens@{issuer}")


def client_place(tenant: str, server_id: str, issuer: str) -> SecretPlace:
    """Return the place of the client that agio registered for a server."""
    return SecretPlace(tenant, server_id + CLIENTS, issuer)


class McpOAuthStore(Protocol):
    """The store of connections."""

    async def list_mcp_connections(self, tenant: str, user: str) -> list[McpConnection]:
        """List the team's and a user's own connections, without tokens."""
        ...

    async def find_mcp_connection(self, tenant: str, server_id: str, owner: str) -> McpConnection | None:
        """Return a connection with its tokens; None if there is none."""
        ...

    async def connect_mcp_server(
        self,
        tenant: str,
        server_id: str,
        owner: str,
        connection_id: str,
        issuer: str,
        expires_at: int | None,
        tokens: Sealed,
    ) -> None:
        """Keep a new connection in place of the one before. Raises UserError `mcp_server_not_found`."""
        ...

    async def renew_mcp_connection(
        self,
        tenant: str,
        connection_id: str,
        version: int,
        expires_at: int | None,
        tokens: Sealed | None,
        error: str | None = None,
    ) -> bool:
        """Replace the tokens of a connection, if it still has this version; None: it lost them, and `error` says why.

        Returns whether it had the version.
        """
        ...

    async def disconnect_mcp_server(self, tenant: str, server_id: str, owner: str) -> bool:
        """Delete a connection with its tokens. Returns whether there was one."""
        ...

    async def put_mcp_client(self, tenant: str, server_id: str, issuer: str, client: Sealed) -> None:
        """Keep a client that was registered for a server. Raises UserError `mcp_server_not_found`."""
        ...
