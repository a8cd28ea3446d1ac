-- OAuth connections to MCP servers. A connection without an owner is the team's.

-- part: mcp_connection_columns
    c.id, c.server_id, c.owner, c.issuer, c.version, c.expires_at, c.error, c.updated_at

-- name: list_mcp_connections
-- Without tokens.
select {mcp_connection_columns}, null, null
from mcp_connections c where c.tenant_id = :tenant and c.owner in ('', :user_id);

-- name: find_mcp_connection
select {mcp_connection_columns}, s.key_id, s.sealed
from mcp_connections c
left join secrets s on s.tenant_id = c.tenant_id and s.owner_id = c.id and s.field = 'tokens@' || c.issuer
where c.server_id = :server_id and c.tenant_id = :tenant and c.owner = :user_id;

-- name: add_mcp_connection
insert into mcp_connections (id, tenant_id, server_id, owner, issuer, version, expires_at, updated_at)
values (:connection_id, :tenant, :server_id, :user_id, :issuer, 1, :expires_at, :now);

-- name: renew_mcp_connection
update mcp_connections set version = version + 1, expires_at = :expires_at, error = :error, updated_at = :now
where id = :connection_id and tenant_id = :tenant and version = :version returning issuer;

-- name: delete_mcp_connection
delete from mcp_connections where server_id = :server_id and tenant_id = :tenant and owner = :user_id returning id;

-- name: delete_secrets_of_mcp_connections
-- Of a server, with the clients that were registered for it.
delete from secrets where tenant_id = :tenant and (
    owner_id = :server_id || '/clients'
    or owner_id in (select id from mcp_connections where server_id = :server_id and tenant_id = :tenant)
);

-- name: delete_mcp_connections
delete from mcp_connections where server_id = :server_id and tenant_id = :tenant;

-- name: delete_secrets_of_member_connections
delete from secrets where tenant_id = :tenant
    and owner_id in (select id from mcp_connections where owner = :user_id and tenant_id = :tenant);

-- name: delete_member_connections
delete from mcp_connections where owner = :user_id and tenant_id = :tenant;
