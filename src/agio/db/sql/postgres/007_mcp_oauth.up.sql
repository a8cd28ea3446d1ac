-- OAuth connections to MCP servers. The tokens of each are a row of secrets, whose owner is the connection.
create table mcp_connections (
    id text collate "C" primary key,
    tenant_id text collate "C" not null,
    server_id text collate "C" not null references mcp_servers (id) on delete cascade,
    owner text not null,                    -- the user; empty: the whole team
    issuer text not null,                   -- the authorization server that gave the tokens
    version bigint not null,               -- grows with every change of the tokens
    expires_at bigint,                     -- when the access token expires; null: unknown
    error text,                             -- why it must be connected again; null: it works
    updated_at bigint not null,
    unique (server_id, owner)
);

create index mcp_connections_of_tenant on mcp_connections (tenant_id, owner);
