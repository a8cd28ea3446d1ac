-- OAuth connections to MCP servers. The tokens of each are a row of secrets, whose owner is the connection.
create table mcp_connections (
    id text primary key not null,
    tenant_id text not null,
    server_id text not null references mcp_servers (id) on delete cascade,
    owner text not null,                    -- the user; empty: the whole team
    issuer text not null,                   -- the authorization server that gave the tokens
    version integer not null,               -- grows with every change of the tokens
    expires_at integer,                     -- when the access token expires; null: unknown
    error text,                             -- why it must be connected again; null: it works
    updated_at integer not null,
    unique (server_id, owner)
) strict;

create index mcp_connections_of_tenant on mcp_connections (tenant_id, owner);
