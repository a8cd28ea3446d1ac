-- MCP servers of teams. An accepted tool of theirs is a row of agent_tools, of kind mcp and with the same id.
create table mcp_servers (
    id text primary key not null,
    tenant_id text not null references tenants (id),
    name text not null,
    definition blob not null,               -- JSON: transport, URL, headers without their secrets, limits
    created_at integer not null,
    updated_at integer not null,
    unique (tenant_id, name)
) strict;

-- The tools that servers offer, or offered.
create table mcp_tools (
    id text primary key not null,
    server_id text not null references mcp_servers (id) on delete cascade,
    tenant_id text not null,
    remote text not null,                   -- the server's name of it
    offered blob,                           -- JSON: as the server offered it last; null: not any more
    accepted blob,                          -- JSON: as a person accepted it; null: never
    choice blob not null,                   -- JSON: switch, effect, approval
    seen_at integer not null,
    unique (server_id, remote)
) strict;

create index mcp_tools_of_tenant on mcp_tools (tenant_id, server_id, remote);
