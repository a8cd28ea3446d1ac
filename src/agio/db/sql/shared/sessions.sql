-- Sessions of a user, their messages and their questions.

-- part: session_columns
-- In the order of SessionRow's fields. `r` is the newest run that has begun.
    s.id, s.tenant_id, s.user_id, s.agent_id, a.name, s.title, s.on_busy,
    coalesce(
        (
            select status from runs
            where tenant_id = s.tenant_id and user_id = s.user_id and session_id = s.id and status = 'running'
        ),
        (
            select status from runs
            where tenant_id = s.tenant_id and user_id = s.user_id and session_id = s.id and status = 'queued' limit 1
        )
    ) as active,
    (select count(*) from interrupts where session_id = s.id and state = 'open') as questions,
    s.alias, s.pending, s.created_at, s.updated_at, r.run_id, r.first_pos, r.last_seq, r.status, s.seen_pos,
    s.forked_from

-- part: session_tables
    agent_sessions s
    join agents a on a.id = s.agent_id
    left join runs r on r.run_id = (
        select run_id from runs where session_id = s.id and first_pos is not null
        order by first_pos desc, number desc limit 1
    )

-- name: list_sessions
select {session_columns} from {session_tables}
where s.tenant_id = :tenant and s.user_id = :user_id and (s.updated_at, s.id) < (:updated_at, :session_id)
    and ({is_found})
order by s.updated_at desc, s.id desc limit :limit;

-- name: list_sessions_of_agent
select {session_columns} from {session_tables}
where s.tenant_id = :tenant and s.user_id = :user_id and s.agent_id = :agent_id
    and (s.updated_at, s.id) < (:updated_at, :session_id)
    and ({is_found})
order by s.updated_at desc, s.id desc limit :limit;

-- name: get_session
select {session_columns} from {session_tables}
where s.id = :session_id and s.tenant_id = :tenant and s.user_id = :user_id;

-- name: session_of_alias
-- The session of an alias, and whether one was deleted.
select
    (
        select id from agent_sessions
        where tenant_id = :tenant and user_id = :user_id and agent_id = :agent_id and alias = :alias
    ) as id,
    exists (
        select 1 from idempotency_keys
        where tenant_id = :tenant and user_id = :user_id and kind = 'session' and scope = :agent_id and hash = :hash
            and created_at > :since
    ) as buried;

-- name: own_session
-- Whether a session is the user's.
select id from agent_sessions where id = :session_id and tenant_id = :tenant and user_id = :user_id;

-- name: add_session
insert into agent_sessions (
    id, tenant_id, user_id, agent_id, title, on_busy, alias, mark, pending, created_at, updated_at
) values (
    :session_id, :tenant, :user_id, :agent_id, :title, :on_busy, :alias, :mark, '[]', :now, :now
) on conflict do nothing returning id;

-- name: update_session
-- `updated_at` stays: it is the last activity, which orders the list and counts for retention.
update agent_sessions set title = coalesce(:title, title), on_busy = coalesce(:on_busy, on_busy)
where id = :session_id and tenant_id = :tenant and user_id = :user_id returning id;

-- name: see_session
-- The position only grows.
update agent_sessions set seen_pos = :seen_pos
where id = :session_id and tenant_id = :tenant and user_id = :user_id and seen_pos < :seen_pos;

-- name: delete_session
-- Deletes its runs, logs, messages, questions and tool records too.
delete from agent_sessions where id = :session_id and tenant_id = :tenant and user_id = :user_id;

-- part: is_old
-- Past the tenant's retention time, without a queued or running run.
    s.updated_at < :now - t.retention_days * 86400000
    and not exists (
        select 1 from runs
        where tenant_id = s.tenant_id and user_id = s.user_id and session_id = s.id and status = 'running'
    )
    and not exists (
        select 1 from runs
        where tenant_id = s.tenant_id and user_id = s.user_id and session_id = s.id and status = 'queued'
    )

-- name: old_sessions
-- By user, as the index of sessions is; SQLite keeps the order of a cross join.
select s.tenant_id, s.user_id, s.id
from tenants t cross join users u cross join agent_sessions s
where t.retention_days is not null and u.tenant_id = t.id and s.tenant_id = t.id and s.user_id = u.id and {is_old}
limit :limit;

-- name: old_session
-- Whether a session is old.
select s.id from agent_sessions s join tenants t on t.id = s.tenant_id
where s.id = :session_id and s.tenant_id = :tenant and s.user_id = :user_id and {is_old};

-- part: message_columns
-- In the order of MessageRow's fields.
    m.id, m.run_id, m.role, m.message, m.created_at, m.pos, m.run_number, m.idx

-- part: message_places
-- What a page of messages is chosen by: id, size, and the order in the session.
    m.id, length(m.message), m.pos, m.run_number, m.idx

-- name: list_messages
-- Those of runs that have begun.
select {message_places}
from agent_session_messages m
where m.session_id = :session_id and (m.pos, m.run_number, m.idx) > (:pos, :run_number, :idx)
    and exists (
        select 1 from agent_sessions s where s.id = :session_id and s.tenant_id = :tenant and s.user_id = :user_id
    )
order by m.pos, m.run_number, m.idx limit :limit;

-- name: list_queued_messages
select {message_places}
from agent_session_messages m
where m.session_id = :session_id and m.pos is null and (m.run_number, m.idx) > (:run_number, :idx)
    and exists (
        select 1 from agent_sessions s where s.id = :session_id and s.tenant_id = :tenant and s.user_id = :user_id
    )
order by m.run_number, m.idx limit :limit;

-- name: last_messages
-- Those of runs that have begun, newest first.
select {message_places}
from agent_session_messages m
where m.session_id = :session_id and (m.pos, m.run_number, m.idx) < (:pos, :run_number, :idx)
    and exists (
        select 1 from agent_sessions s where s.id = :session_id and s.tenant_id = :tenant and s.user_id = :user_id
    )
order by m.pos desc, m.run_number desc, m.idx desc limit :limit;

-- name: last_queued_messages
-- Newest first.
select {message_places}
from agent_session_messages m
where m.session_id = :session_id and m.pos is null and (m.run_number, m.idx) < (:run_number, :idx)
    and exists (
        select 1 from agent_sessions s where s.id = :session_id and s.tenant_id = :tenant and s.user_id = :user_id
    )
order by m.run_number desc, m.idx desc limit :limit;

-- name: put_message
-- A message with the same id stays.
insert into agent_session_messages (session_id, id, run_id, run_number, idx, pos, role, message, created_at)
values (:session_id, :id, :run_id, :run_number, :idx, :pos, :role, :message, :now) on conflict do nothing;

-- name: place_messages
-- Gives the messages of a starting run their position.
update agent_session_messages set pos = :pos where session_id = :session_id and pos is null and run_id = :run_id;

-- name: list_interrupts
-- In the order of InterruptRecord's fields.
select i.id, i.session_id, i.run_id, i.tool_call_id, i.tool, i.arguments, i.message, i.state, i.created_at, i.expires_at
from interrupts i
where i.session_id = :session_id and exists (
    select 1 from agent_sessions s where s.id = :session_id and s.tenant_id = :tenant and s.user_id = :user_id
)
order by i.created_at desc, i.id desc;
