-- Inline agents and their sessions.

-- name: inline_session
select id from agent_sessions
where tenant_id = :tenant and user_id = :user_id and agent_id = :agent_id and alias = :alias;

-- name: forget_inline_agent
-- Clears the row instead of deleting it: a check for references would read all runs.
update agents set name = '', system_prompt = '', description = '', goal = null, output_schema = null, handoffs = null,
    collections = null,
    deleted_at = :now, {next_version}
where id = :agent_id and tenant_id = :tenant and source = 'inline' returning id;

-- name: revive_inline_agent
-- The session's key is used again.
update agents set deleted_at = null, {next_version}
where id = :agent_id and tenant_id = :tenant and source = 'inline' and deleted_at is not null;
