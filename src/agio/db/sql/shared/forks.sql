-- Copies of sessions. A copy is written in several commits under a placeholder owner; the last one hands it over.

-- name: runs_ahead
-- A run of the session before this one that has not ended.
select r.run_id
from runs m join runs r on r.session_id = m.session_id
where m.run_id = :run_id and m.tenant_id = :tenant and m.user_id = :user_id
    and (r.status = 'running' or r.status = 'queued' and (r.kind, r.number) < (m.kind, m.number))
limit 1;

-- name: begin_fork
insert into agent_sessions (
    id, tenant_id, user_id, agent_id, title, on_busy, alias, mark, created_at, updated_at, seen_pos, forked_from
)
select
    :fork_id, :nobody, :nobody, :agent_id, :title, on_busy, :alias, mark, :now, :now, :seen_pos, id
from agent_sessions where id = :session_id and tenant_id = :tenant and user_id = :user_id
returning id;

-- name: note_fork
insert into forks (session_id, begun_at) values (:fork_id, :now);

-- name: copy_run
-- Copies an ended run, without its token. `copied_from` is the original run, also in a copy of a copy.
insert into runs (
    run_id, session_id, agent_id, agent_name, tenant_id, user_id, model, status, kind, epoch, last_seq, first_pos,
    created_at, started_at, ended_at, cancel_requested_at, mark, title, error_code, goal_met, token_hash,
    turns_at_claim, fruitless, request_id, steps, input_tokens, output_tokens, cost, usage_partial, error_message,
    copied_from, parent_run_id, parent_seq, definition, log_level, active_agent, needed
)
select
    :new_run_id, :fork_id, agent_id, agent_name, :nobody, :nobody, model, status, kind, epoch, last_seq, :first_pos,
    created_at, started_at, ended_at, cancel_requested_at, mark, title, error_code, goal_met, :token_hash,
    turns_at_claim, fruitless, request_id, steps, input_tokens, output_tokens, cost, usage_partial, error_message,
    coalesce(copied_from, run_id), :parent_run_id, parent_seq, definition, log_level, active_agent, needed
from runs where run_id = :run_id and ended_at is not null;

-- name: messages_between
-- Messages of the runs at these positions.
select run_id, id, idx, pos, role, message, created_at from agent_session_messages
where session_id = :session_id and pos > :first_pos and pos <= :last_pos
order by pos, run_number, idx;

-- name: copy_message
insert into agent_session_messages (session_id, id, run_id, run_number, idx, pos, role, message, created_at)
select :fork_id, :id, run_id, number, :idx, :pos, :role, :message, :created_at from runs where run_id = :run_id;

-- part: runs_between
-- Runs `r` of a session that begin at these positions.
    r.session_id = :session_id and r.first_pos >= :first_pos and r.first_pos <= :last_pos

-- name: turns_between
select t.run_id, t.seq, t.step, t.record from runs r join turns t on t.run_id = r.run_id
where {runs_between};

-- name: tools_between
select t.run_id, t.key, t.tool, t.effect, t.state, t.content, t.error, t.started_at, t.ended_at
from runs r join tool_executions t on t.run_id = r.run_id
where {runs_between};

-- name: copy_tool
insert into tool_executions (run_id, key, tool, effect, state, content, error, started_at, ended_at)
values (:run_id, :key, :tool, :effect, :state, :content, :error, :started_at, :ended_at);

-- name: interrupts_between
select
    i.run_id, i.id, i.tool_call_id, i.tool, i.arguments, i.message, i.state, i.created_at, i.expires_at, i.closed_at,
    i.closed_by, i.input
from runs r join interrupts i on i.run_id = r.run_id
where {runs_between};

-- name: copy_interrupt
-- An open question is cancelled in the copy.
insert into interrupts (
    session_id, id, run_id, tool_call_id, tool, arguments, message, state, created_at, expires_at, closed_at, closed_by,
    input
) values (
    :fork_id, :id, :run_id, :tool_call_id, :tool, :arguments, :message,
    case cast(:state as text) when 'open' then 'cancelled' else :state end,
    :created_at, :expires_at, coalesce(cast(:closed_at as bigint), :now), :closed_by, :input
);

-- name: files_of_session
-- The number of chunks follows from the size.
select id, size from files
where session_id = :session_id and tenant_id = :tenant and user_id = :user_id and stored_at is not null;

-- name: copy_file
insert into files (id, tenant_id, user_id, session_id, name, media_type, size, digest, created_at, text)
select :new_file_id, :nobody, :nobody, :fork_id, name, media_type, size, digest, created_at, text
from files where id = :file_id and session_id = :session_id and stored_at is not null;

-- name: copy_file_chunks
insert into file_chunks (file_id, idx, data)
select f.id, c.idx, c.data
from file_chunks c join files f on f.id = :new_file_id
where c.file_id = :file_id and c.idx >= :first and c.idx < :last;

-- name: forget_copied_file
-- Deletes the copy of a file that was deleted since.
delete from files
where id = :new_file_id and not exists (select 1 from files f where f.id = :file_id and f.session_id = :session_id);

-- name: hand_over_session
update agent_sessions set
    tenant_id = :to_tenant, user_id = :to_user, agent_id = coalesce(:own_agent, agent_id), created_at = :now, updated_at = :now
where id = :fork_id and tenant_id = :nobody returning id;

-- name: hand_over_runs
update runs set tenant_id = :to_tenant, user_id = :to_user, agent_id = coalesce(:own_agent, agent_id)
where session_id = :fork_id;

-- name: hand_over_files
update files set tenant_id = :to_tenant, user_id = :to_user, stored_at = :now where session_id = :fork_id;

-- name: take_fork_key
-- No row: the key is taken.
insert into idempotency_keys (tenant_id, user_id, kind, scope, hash, digest, run_id, created_at)
values (:tenant, :user_id, 'fork', :session_id, :hash, :digest, :fork_id, :now)
on conflict (tenant_id, user_id, kind, scope, hash)
do update set digest = excluded.digest, run_id = excluded.run_id, created_at = excluded.created_at
where idempotency_keys.created_at <= :since
returning tenant_id;

-- name: end_fork
delete from forks where session_id = :fork_id;

-- name: drop_fork
-- Deletes all that was copied.
delete from agent_sessions where id = :fork_id and tenant_id = :nobody;

-- name: sweep_forks
-- Deletes copies that a crash left unfinished.
delete from agent_sessions where id in (select session_id from forks where begun_at < :until);
