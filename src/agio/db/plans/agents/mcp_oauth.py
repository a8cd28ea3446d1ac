"""OAuth connections to MCP servers. Their tokens are rows of `secrets`, which a new master key seals like the rest."""

from agio.core.mcp_oauth import McpConnection, client_place, tokens_place
from agio.core.provider import Sealed
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.agents.mcp import get_mcp_server
from agio.db.plans.agents.secrets import delete_secrets_of, put_secrets, sealed_of
from agio.db.records import now_ms
from agio.db.rows import Columns, as_row


class _Row(Columns, frozen=True):
    """`mcp_connection_columns`."""

    id: str
    server_id: str
    owner: str
    issuer: str
    version: int
    expires_at: int | None
    error: str | None
    updated_at: int
    key_id: str | None
    sealed: bytes | None

    def connection(self) -> McpConnection:
        return McpConnection(
            id=self.id,
            server_id=self.server_id,
            owner=self.owner,
            issuer=self.issuer,
            version=self.version,
            expires_at=self.expires_at,
            error=self.error,
            updated_at=self.updated_at,
            tokens=None if self.key_id is None else sealed_of(self.key_id, self.sealed),
        )


def list_mcp_connections(tenant: str, user: str) -> Plan[list[McpConnection]]:
    """The team's and a user's own connections."""
    rows = yield from ask("list_mcp_connections", tenant=tenant, user_id=user)
    return [as_row(_Row, row).connection() for row in rows]


def find_mcp_connection(tenant: str, server_id: str, owner: str) -> Plan[McpConnection | None]:
    """A connection with its tokens."""
    row = yield from ask_one("find_mcp_connection", tenant=tenant, server_id=server_id, user_id=owner)
    return None if row is None else as_row(_Row, row).connection()


def connect_mcp_server(
    tenant: str,
    server_id: str,
    owner: str,
    connection_id: str,
    issuer: str,
    expires_at: int | None,
    tokens: Sealed,
) -> Plan[None]:
    """Keep a new connection in place of the one before. Raises UserError `mcp_server_not_found`."""
    yield from ask("lock_tenant", tenant=tenant)
    yield from get_mcp_server(tenant, server_id)
    yield from disconnect_mcp_server(tenant, server_id, owner)
    yield from ask(
        "add_mcp_connection",
        connection_id=connection_id,
        tenant=tenant,
        server_id=server_id,
        user_id=owner,
        issuer=issuer,
        expires_at=expires_at,
        now=now_ms(),
    )
    place = tokens_place(tenant, connection_id, issuer)
    yield from put_secrets(tenant, place.owner_id, {place.field: tokens})


def renew_mcp_connection(
    tenant: str,
    connection_id: str,
    version: int,
    expires_at: int | None,
    tokens: Sealed | None,
    error: str | None = None,
) -> Plan[bool]:
    """Replace the tokens, if the connection still has this version; returns whether it had."""
    row = yield from ask_one(
        "renew_mcp_connection",
        tenant=tenant,
        connection_id=connection_id,
        version=version,
        expires_at=expires_at,
        error=error,
        now=now_ms(),
    )
    if row is None:
        return False
    yield from delete_secrets_of(tenant, connection_id)
    if tokens is not None:
        place = tokens_place(tenant, connection_id, str(row[0]))
        yield from put_secrets(tenant, connection_id, {place.field: tokens})
    return True


def disconnect_mcp_server(tenant: str, server_id: str, owner: str) -> Plan[bool]:
    """Delete a connection with its tokens; returns whether there was one."""
    row = yield from ask_one("delete_mcp_connection", tenant=tenant, server_id=server_id, user_id=owner)
    if row is not None:
        yield from delete_secrets_of(tenant, str(row[0]))
    return row is not None


def put_mcp_client(tenant: str, server_id: str, issuer: str, client: Sealed) -> Plan[None]:
    """Keep a client that was registered for a server. Raises UserError `mcp_server_not_found`."""
    yield from ask("lock_tenant", tenant=tenant)
    yield from get_mcp_server(tenant, server_id)
    place = client_place(tenant, server_id, issuer)
    yield from put_secrets(tenant, place.owner_id, {place.field: client})
