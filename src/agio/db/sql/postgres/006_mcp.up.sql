-- MCP servers of teams. An accepted tool of theirs is a row of agent_tools, of kind mcp and with the same id.
create table mcp_servers (
    id text collate "C" primary key,
    tenant_id text collate "C" not null references tenants (id),
    name text not null,
    definition bytea not null,               -- JSON: transport, URL, headers without their secrets, limits
    created_at bigint not null,
    updated_at bigint not null,
    unique (tenant_id, name)
);

-- The tools that servers offer, or offered.
create table mcp_tools (
    id text collate "C" primary key,
    server_id text collate "C" not null references mcp_servers (id) on delete cascade,
    tenant_id text collate "C" not null,
    remote text collate "C" not null,                   -- the server's name of it
    offered bytea,                           -- JSON: as the server offered it last; null: not any more
    accepted bytea,                          -- JSON: as a person accepted it; null: never
    choice bytea not null,                   -- JSON: switch, effect, approval
    seen_at bigint not null,
    unique (server_id, remote)
);

create index mcp_tools_of_tenant on mcp_tools (tenant_id, server_id, remote);
