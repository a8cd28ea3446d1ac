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
    s.alias,
    case
        when s.leaf_run_id is null then coalesce(r.pending, '[]')
        else (select pending from runs where run_id = s.leaf_run_id)
    end as pending,
    s.created_at, s.updated_at, r.run_id, r.first_pos, r.last_seq, r.status, s.seen_pos, s.forked_from, s.leaf_run_id,
    coalesce(r.branched, 0),
    case
        when s.leaf_run_id is null then r.active_agent
        else (select active_agent from runs where run_id = s.leaf_run_id)
    end as active_agent

-- part: session_tables
    agent_sessions s
    join agents a on a.id = s.agent_id
    {newest_run}

-- part: newest_run
-- The newest run of session `s` that has begun.
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
    id, tenant_id, user_id, agent_id, title, on_busy, alias, mark, created_at, updated_at
) values (
    :session_id, :tenant, :user_id, :agent_id, :title, :on_busy, :alias, :mark, :now, :now
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
where t.id = :tenant and u.tenant_id = t.id and s.tenant_id = t.id and s.user_id = u.id and {is_old}
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

-- part: path
-- The runs that lead to `leaf`, back to the first one before which nothing branched.
with recursive path (run_id, parent_run_id, branched, last_pos) as (
    select run_id, parent_run_id, branched, first_pos + last_seq from runs
    where run_id = :leaf and session_id = :session_id and first_pos is not null
    union all
    select p.run_id, p.parent_run_id, p.branched, p.first_pos + p.last_seq
    from path join runs p on p.run_id = path.parent_run_id
    where path.branched = 1
)

-- part: on_path
    m.session_id = :session_id
    and (m.run_id in (select run_id from path) or m.pos <= (select max(last_pos) from path where branched = 0))
    and exists (
        select 1 from agent_sessions s where s.id = :session_id and s.tenant_id = :tenant and s.user_id = :user_id
    )

-- name: list_path_messages
{path}
select {message_places} from agent_session_messages m
where {on_path} and (m.pos, m.run_number, m.idx) > (:pos, :run_number, :idx)
order by m.pos, m.run_number, m.idx limit :limit;

-- name: last_path_messages
-- Newest first.
{path}
select {message_places} from agent_session_messages m
where {on_path} and (m.pos, m.run_number, m.idx) < (:pos, :run_number, :idx)
order by m.pos desc, m.run_number desc, m.idx desc limit :limit;

-- name: path_to
-- Newest first.
{path}
select {run_columns}, number from runs where run_id in (select run_id from path)
order by runs.first_pos desc, number desc;

-- name: tree_of_session
-- The runs of a session that have begun, in the order of its stream.
select run_id, parent_run_id from runs
where session_id = :session_id and first_pos is not null order by first_pos, number;

-- name: put_message
-- A message with the same id stays; input of the running run gets its place.
insert into agent_session_messages (session_id, id, run_id, run_number, idx, pos, role, message, created_at)
values (:session_id, :id, :run_id, :run_number, :idx, :pos, :role, :message, :now)
on conflict (session_id, id) do update set idx = excluded.idx, pos = excluded.pos
where agent_session_messages.pos is null and agent_session_messages.run_id = excluded.run_id;

-- name: move_message
update agent_session_messages set run_id = :run_id, run_number = :run_number, idx = :idx
where session_id = :session_id and id = :id;

-- name: place_messages
-- Gives the messages of a starting run their position.
update agent_session_messages set pos = :pos where session_id = :session_id and pos is null and run_id = :run_id;

-- name: list_interrupts
-- In the order of InterruptRecord's fields.
select
    i.id, i.session_id, i.run_id, i.tool_call_id, i.tool, i.arguments, i.message, i.state, i.created_at, i.expires_at,
    i.input
from interrupts i
where i.session_id = :session_id and exists (
    select 1 from agent_sessions s where s.id = :session_id and s.tenant_id = :tenant and s.user_id = :user_id
)
order by i.created_at desc, i.id desc;
