-- Sessions with agents of their own.

-- name: inline_session
select id from agent_sessions
where tenant_id = :tenant and user_id = :user_id and agent_id = :agent_id and alias = :alias;

-- name: forget_inline_agent
-- With the session it was made for. The row stays, empty: finding out that nothing refers to it would read all runs.
update agents set name = '', system_prompt = '', description = '', goal = null, output_schema = null,
    deleted_at = :now, {next_version}
where id = :agent_id and tenant_id = :tenant and source = 'inline' returning id;

-- name: revive_inline_agent
-- Its session's key is used anew.
update agents set deleted_at = null, {next_version}
where id = :agent_id and tenant_id = :tenant and source = 'inline' and deleted_at is not null;
