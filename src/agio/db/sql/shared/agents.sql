-- Agents and their tools. A deleted agent keeps its row for its sessions.

-- part: next_version
-- `updated_at` is also the version: it always grows.
    updated_at = case when :now > updated_at then :now else updated_at + 1 end

-- part: as_expected
-- `expected` is the version that was read; null: any.
    (cast(:expected as bigint) is null or updated_at = :expected)

-- name: list_agents
select {agent_columns}
from agents a
where tenant_id = :tenant and deleted_at is null and source <> 'inline' and name > :after
    and (cast(:status as text) is null or status = :status)
order by name limit :limit;

-- name: search_agents
select {agent_columns}
from agents a
where tenant_id = :tenant and deleted_at is null and source <> 'inline' and name > :after
    and (cast(:status as text) is null or status = :status)
    and (lower(name) like :pattern escape '\' or lower(description) like :pattern escape '\')
order by name limit :limit;

-- name: name_agents
-- Oldest first.
select id, name from agents
where tenant_id = :tenant and deleted_at is null and source <> 'inline' and status = 'active'
order by created_at, id;

-- name: get_agent
select {agent_columns} from agents a
where id = :agent_id and tenant_id = :tenant and deleted_at is null and source <> 'inline';

-- name: agent_of_run
-- Also a deleted agent.
select {agent_columns} from agents a where id = :agent_id and tenant_id = :tenant;

-- name: agent_by_name
select {agent_columns} from agents a
where tenant_id = :tenant and name = :name and deleted_at is null and source <> 'inline';

-- name: list_code_agents
select id from agents
where tenant_id = :tenant and source = 'code' and source <> 'inline' and deleted_at is null;

-- name: add_agent
insert into agents (id, tenant_id, {definition_columns}, source, created_at, updated_at)
values (:agent_id, :tenant, {definition_values}, :source, :now, :now)
on conflict do nothing returning id;

-- name: update_agent
update agents set
    {definition_changes}, source = :source, {next_version}
where id = :agent_id and tenant_id = :tenant and deleted_at is null and {as_expected} returning id;

-- name: retire_agent
-- The module no longer defines it.
update agents set status = 'inactive', {next_version}
where id = :agent_id and tenant_id = :tenant and status <> 'inactive';

-- name: delete_agent
update agents set deleted_at = :now where id = :agent_id and tenant_id = :tenant and deleted_at is null;

-- name: add_tool
insert into agent_tools (id, tenant_id, name, created_at) values (:tool_id, :tenant, :name, :now)
on conflict do nothing;

-- name: tool_by_name
select id from agent_tools where tenant_id = :tenant and name = :name;

-- name: clear_assignments
delete from agent_tool_assignments
where agent_id = :agent_id and exists (select 1 from agents where id = :agent_id and tenant_id = :tenant);

-- name: add_assignment
-- The caller has found the agent and the tool in the tenant.
insert into agent_tool_assignments (agent_id, tool_id, idx, approval) values (:agent_id, :tool_id, :idx, :approval)
on conflict do nothing;
