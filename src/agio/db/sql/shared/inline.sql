-- Sessions with agents of their own.

-- name: inline_session
select id from agent_sessions
where tenant_id = :tenant and user_id = :user_id and agent_id = :agent_id and alias = :alias;

-- name: delete_inline_agent
-- With the session it was made for.
delete from agents
where id = :agent_id and tenant_id = :tenant and source = 'inline'
    and not exists (select 1 from agent_sessions where agent_id = :agent_id);
