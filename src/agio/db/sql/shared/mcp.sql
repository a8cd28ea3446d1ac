-- MCP servers of a team, and their tools. An accepted tool is also a row of agent_tools, with the same id.

-- part: mcp_server_columns
    s.id, s.tenant_id, s.name, s.definition, s.created_at, s.updated_at

-- part: mcp_tool_columns
-- An accepted tool's name towards models is in agent_tools.
    m.id, m.server_id, m.remote, coalesce(t.name, ''), m.offered, m.accepted, m.choice, m.seen_at

-- name: list_mcp_servers
select {mcp_server_columns} from mcp_servers s where s.tenant_id = :tenant order by s.name;

-- name: get_mcp_server
select {mcp_server_columns} from mcp_servers s where s.id = :server_id and s.tenant_id = :tenant;

-- name: find_mcp_server
select {mcp_server_columns} from mcp_servers s where s.tenant_id = :tenant and s.name = :name;

-- name: count_mcp_servers
select count(*) from mcp_servers where tenant_id = :tenant;

-- name: add_mcp_server
insert into mcp_servers (id, tenant_id, name, definition, created_at, updated_at)
values (:server_id, :tenant, :name, :definition, :now, :now) on conflict do nothing returning id;

-- name: update_mcp_server
update mcp_servers set name = :name, definition = :definition, {next_version}
where id = :server_id and tenant_id = :tenant and {as_expected} returning id;

-- name: delete_mcp_server
delete from mcp_servers where id = :server_id and tenant_id = :tenant;

-- name: list_mcp_tools
select {mcp_tool_columns}
from mcp_tools m left join agent_tools t on t.id = m.id
where m.tenant_id = :tenant and (cast(:server_id as text) is null or m.server_id = :server_id)
order by m.server_id, m.remote;

-- name: get_mcp_tool
select {mcp_tool_columns}
from mcp_tools m left join agent_tools t on t.id = m.id
where m.id = :tool_id and m.tenant_id = :tenant;

-- name: put_mcp_tool
-- What the server offers now. The rest is the team's.
insert into mcp_tools (id, server_id, tenant_id, remote, offered, choice, seen_at)
values (:tool_id, :server_id, :tenant, :remote, :offered, :choice, :now)
on conflict (server_id, remote) do update set offered = excluded.offered, seen_at = excluded.seen_at
where mcp_tools.tenant_id = excluded.tenant_id;

-- name: choose_mcp_tool
update mcp_tools set accepted = :accepted, choice = :choice where id = :tool_id and tenant_id = :tenant;

-- name: forget_mcp_tool
-- Never accepted, and not offered any more.
delete from mcp_tools where id = :tool_id and tenant_id = :tenant and accepted is null;

-- name: add_mcp_agent_tool
insert into agent_tools (id, tenant_id, name, kind, definition, created_at, updated_at)
values (:tool_id, :tenant, :name, 'mcp', :definition, :now, :now) on conflict do nothing;

-- name: name_mcp_agent_tool
update agent_tools set name = :name where id = :tool_id and tenant_id = :tenant and kind = 'mcp';

-- name: change_mcp_agent_tool
update agent_tools set definition = :definition, {next_version}
where id = :tool_id and tenant_id = :tenant and kind = 'mcp';

-- name: own_tool_by_name
-- The team's own tool of a name; a name that agents were given without there being such a tool is free.
select id from agent_tools where tenant_id = :tenant and name = :name and kind <> 'named';
