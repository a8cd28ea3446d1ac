-- HTTP tools of a team, assignments, and calls outside runs.

-- part: tool_columns
-- In the order of ToolDefinition's fields.
    id, tenant_id, name, definition, created_at, updated_at

-- name: list_tool_definitions
select {tool_columns} from agent_tools where tenant_id = :tenant and kind = 'http' order by name;

-- name: count_http_tools
select count(*) from agent_tools where tenant_id = :tenant and kind = 'http';

-- name: get_tool_definition
select {tool_columns} from agent_tools where id = :tool_id and tenant_id = :tenant and kind = 'http';

-- name: find_tool_definition
select {tool_columns} from agent_tools where tenant_id = :tenant and name = :name and kind = 'http';

-- name: agent_tool_by_name
-- As `tools_of_agents`: the team's own tool of a name, assigned to no agent.
select '', name, null, id, kind, definition, updated_at from agent_tools
where tenant_id = :tenant and name = :name and kind <> 'named';

-- name: add_http_tool
insert into agent_tools (id, tenant_id, name, kind, definition, created_at, updated_at)
values (:tool_id, :tenant, :name, 'http', :definition, :now, :now) on conflict do nothing returning id;

-- name: change_http_tool
update agent_tools set name = :name, definition = :definition, {next_version}
where id = :tool_id and tenant_id = :tenant and kind = 'http' and {as_expected} returning created_at, updated_at;

-- name: delete_tool
delete from agent_tools where id = :tool_id and tenant_id = :tenant;

-- name: inherit_assignments
-- A tool that takes over a name is assigned to the agents that had the name.
update agent_tool_assignments set tool_id = :tool_id
where tool_id = :other_tool
    and exists (select 1 from agent_tools t where t.id = :other_tool and t.tenant_id = :tenant)
    and not exists (
        select 1 from agent_tool_assignments x
        where x.agent_id = agent_tool_assignments.agent_id and x.tool_id = :tool_id
    );

-- name: clear_assignments_of_tool
delete from agent_tool_assignments
where tool_id = :tool_id and exists (select 1 from agent_tools t where t.id = :tool_id and t.tenant_id = :tenant);

-- name: delete_assignment
delete from agent_tool_assignments
where agent_id = :agent_id and tool_id = (select id from agent_tools where tenant_id = :tenant and name = :name)
returning agent_id;

-- name: put_assignment
-- The caller has found the agent and the tool in the tenant. A new assignment is the last.
insert into agent_tool_assignments (agent_id, tool_id, idx, approval)
values (
    :agent_id, :tool_id,
    (select coalesce(max(idx), -1) + 1 from agent_tool_assignments where agent_id = :agent_id), :approval
) on conflict (agent_id, tool_id) do update set approval = excluded.approval;

-- name: touch_agent
update agents set {next_version} where id = :agent_id and tenant_id = :tenant;

-- name: touch_agents_of_tool
-- Agents show the names of their tools.
update agents set {next_version}
where tenant_id = :tenant and id in (
    select x.agent_id from agent_tool_assignments x join agent_tools t on t.id = x.tool_id
    where t.id = :tool_id and t.tenant_id = :tenant
);

-- name: agents_of_tools
select t.name, a.id, a.name
from agents a
    join agent_tool_assignments x on x.agent_id = a.id
    join agent_tools t on t.id = x.tool_id
where a.tenant_id = :tenant and t.tenant_id = :tenant and a.deleted_at is null and a.source <> 'inline'
order by a.name;

-- part: request_columns
    id, tool, effect, content, error, started_at, ended_at

-- name: begin_tool_request
insert into tool_requests (
    id, tenant_id, user_id, session_id, key_hash, digest, tool, effect, state, started_at
) values (
    :request_id, :tenant, :user_id, :session_id, :key_hash, :digest, :tool, :effect, 'started', :now
) on conflict do nothing returning {request_columns};

-- name: find_tool_request
select {request_columns}, digest from tool_requests
where tenant_id = :tenant and user_id = :user_id and key_hash = :key_hash and key_hash is not null;

-- name: end_tool_request
update tool_requests set state = 'finished', content = :content, error = :error, ended_at = :now
where id = :request_id and tenant_id = :tenant and user_id = :user_id and state = 'started';

-- name: get_tool_request
select {request_columns} from tool_requests
where id = :request_id and tenant_id = :tenant and user_id = :user_id;

-- name: delete_tool_requests_of_session
delete from tool_requests where tenant_id = :tenant and user_id = :user_id and session_id = :session_id;

-- name: sweep_tool_requests
delete from tool_requests where started_at <= :until;
