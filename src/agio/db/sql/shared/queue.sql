-- Runs: accepted, queued, claimed, cancelled, ended.

-- name: find_key
select digest, run_id from idempotency_keys
where tenant_id = :tenant and user_id = :user_id and kind = :kind and scope = :scope and hash = :hash
    and created_at > :since;

-- name: put_key
insert into idempotency_keys (tenant_id, user_id, kind, scope, hash, digest, run_id, created_at)
values (:tenant, :user_id, :kind, :scope, :hash, :digest, :run_id, :now)
on conflict (tenant_id, user_id, kind, scope, hash)
do update set digest = excluded.digest, run_id = excluded.run_id, created_at = excluded.created_at;

-- name: message_of_run
-- The last user message with which a run began.
select m.id
from runs r join agent_session_messages m on m.session_id = r.session_id and m.run_number = r.number
where r.run_id = :run_id and m.role = 'user' and r.tenant_id = :tenant and r.user_id = :user_id
    and not exists (select 1 from run_inputs i where i.run_id = r.run_id and i.message_id = m.id)
order by m.idx desc limit 1;

-- name: open_interrupts
-- In a session that was found for its user.
select id, expires_at, run_id from interrupts where session_id = :session_id and state = 'open';

-- name: interrupt_state
-- In a session that was found for its user.
select state from interrupts where session_id = :session_id and id = :id;

-- name: close_interrupt
-- A row only for the first that closes it.
update interrupts set state = :state, closed_at = :now, closed_by = :run_id
where session_id = :session_id and id = :id and state = 'open' returning id;

-- name: active_runs
-- Runs of a session that have not ended.
select {run_columns}
from runs
where run_id in (
    select run_id from runs
    where tenant_id = :tenant and user_id = :user_id and session_id = :session_id and status = 'running'
    union all
    select run_id from runs
    where tenant_id = :tenant and user_id = :user_id and session_id = :session_id and status = 'queued'
)
order by number;

-- name: count_active
-- What the limits count: other sessions in which this API key, or the user without a key, has an active run; the
-- tenant's queued runs, the user's among them; the tenant's running runs. The limits bound the rows read for `key_id`.
select
    (
        select count(*) from runs
        where tenant_id = :tenant and user_id = :user_id and session_id <> :session_id and status = 'running'
            and key_id = :key_id
    ) + (
        select count(distinct session_id) from runs q
        where tenant_id = :tenant and user_id = :user_id and session_id <> :session_id and status = 'queued'
            and key_id = :key_id
            and not exists (
                select 1 from runs r
                where r.tenant_id = :tenant and r.user_id = :user_id and r.session_id = q.session_id
                    and r.status = 'running'
            )
    ) as sessions,
    (select count(*) from runs where tenant_id = :tenant and status = 'queued') as queued,
    (
        select count(*) from runs where tenant_id = :tenant and user_id = :user_id and status = 'queued'
    ) as queued_by_user,
    (select count(*) from runs where tenant_id = :tenant and status = 'running') as running;

-- name: count_running
select count(*) from runs where tenant_id = :tenant and status = 'running';

-- name: count_all
select
    (select count(*) from runs where status = 'queued') as queued,
    (select count(*) from runs where status = 'running') as running;

-- name: add_run
insert into runs (
    run_id, session_id, agent_id, agent_name, tenant_id, user_id, model, status, kind, epoch, last_seq, first_pos,
    created_at, started_at, mark, title, alias, input, worker, token_hash, turns_at_claim, fruitless,
    request_id, key_id, parent_run_id, parent_seq, branched, definition, log_level, active_agent,
    traceparent, gateway
) values (
    :run_id, :session_id, :agent_id, :agent_name, :tenant, :user_id, :model, :status, :kind, :epoch, 0, :first_pos,
    :created_at, :started_at, :mark, :title, :alias, :input, :worker, :token_hash, 0, 0,
    :request_id, :key_id, :parent_run_id, :parent_seq, :branched, :definition, :log_level, :active_agent,
    :traceparent, :gateway
) on conflict do nothing returning number;

-- name: newest_input
select
    number, coalesce((select max(idx) from run_inputs where run_id = :run_id), 0),
    (select count(*) from run_inputs where run_id = :run_id and consumed = 0)
from runs where run_id = :run_id;

-- name: add_input
insert into run_inputs (run_id, idx, message_id) values (:run_id, :idx, :message_id);

-- name: waiting_inputs
select i.idx, m.message
from run_inputs i
join runs r on r.run_id = i.run_id
join agent_session_messages m on m.session_id = r.session_id and m.id = i.message_id
where i.run_id = :run_id and i.consumed = 0 order by i.idx;

-- name: consume_inputs
update run_inputs set consumed = 1 where run_id = :run_id and idx <= :upto;

-- name: drop_inputs
delete from run_inputs where run_id = :run_id and consumed = 0;

-- name: requeue_run
-- A run that continues the one that ends, with the input that is left.
insert into runs (
    run_id, session_id, agent_id, agent_name, tenant_id, user_id, model, status, kind, epoch, last_seq,
    created_at, mark, title, input, token_hash, turns_at_claim, fruitless, request_id, key_id, branched, log_level,
    traceparent
)
select
    :made, session_id, agent_id, agent_name, tenant_id, user_id, model, 'queued', 'message', 0, 0,
    :now, mark, :title, :input, token_hash, 0, 0, request_id, key_id, 0, log_level,
    traceparent
from runs where run_id = :run_id returning number;

-- name: take_in
-- A session has a new run.
update agent_sessions set title = :title, updated_at = :now, closed_at = null
where id = :session_id and tenant_id = :tenant and user_id = :user_id;

-- name: flag_cancel
update runs set cancel_requested_at = coalesce(cancel_requested_at, :now)
where run_id = :run_id and tenant_id = :tenant and user_id = :user_id and status in ('queued', 'running');

-- name: next_tenant
-- The next tenant that has a queued run.
select min(tenant_id) from runs where status = 'queued' and tenant_id > :after;

-- name: queued_input
select input from runs where run_id = :run_id and status = 'queued';

-- part: head_columns
-- In the order of SessionHead's fields. `last_seq` is current if no run of the session is running.
    r.run_id, coalesce(r.first_pos, 0), coalesce(r.last_seq, 0), coalesce(r.branched, 0), coalesce(r.log_level, 1),
    s.leaf_run_id, coalesce(r.active_agent, '')

-- name: session_head
select {head_columns} from agent_sessions s {newest_run} where s.id = :session_id;

-- name: move_leaf
-- In a session that was found for its user.
update agent_sessions set leaf_run_id = :leaf where id = :session_id;

-- name: pending_of_run
-- The calls that a run ended with and whose results are expected.
select pending from runs where run_id = :run_id;

-- name: trace_of_run
select traceparent from runs where run_id = :run_id;

-- name: newest_title
-- The title of a session's run that began last.
select title from runs where session_id = :session_id and first_pos is not null
order by first_pos desc, number desc limit 1;

-- name: start_run
update runs set
    status = 'running', epoch = epoch + 1, first_pos = :first_pos, started_at = :now, worker = :worker,
    token_hash = :token_hash, input = null, parent_run_id = :parent_run_id, parent_seq = :parent_seq,
    branched = :branched, definition = :definition, active_agent = :active_agent, gateway = :gateway
where run_id = :run_id and status = 'queued' returning epoch;

-- name: fail_queued
-- Its row, or its agent's, cannot be read: no claim can be made of it.
update runs set
    status = 'failed', error_code = 'run_unreadable', error_message = :error_message, ended_at = :now, input = null
where run_id = :run_id and status = 'queued';

-- name: put_definition
insert into definitions (agent_id, digest, body, created_at) values (:agent_id, :digest, :body, :now)
on conflict do nothing;

-- name: get_definition
select body from definitions where agent_id = :agent_id and digest = :digest;

-- name: delete_definitions
delete from definitions where agent_id = :agent_id;

-- name: raise_level
-- Also of the session's queued runs: they continue this one.
update runs set log_level = :level
where session_id = (select session_id from runs where run_id = :run_id) and log_level < :level
    and status in ('running', 'queued');

-- name: claim_state
select epoch, fruitless, turns_at_claim, (select count(*) from turns where turns.run_id = runs.run_id) as turns
from runs where run_id = :run_id and status = 'running';

-- name: take_over
update runs set
    epoch = epoch + 1, worker = :worker, token_hash = :token_hash, turns_at_claim = :turns, fruitless = :fruitless,
    gateway = :gateway
where run_id = :run_id and epoch = :epoch and gateway = :held_by and status = 'running' returning epoch;

-- name: give_back
-- -1 differs from every count of turns: the next claim counts this one as progress.
update runs set turns_at_claim = -1, gateway = '' where run_id = :run_id and epoch = :epoch and status = 'running';

-- name: raise_epoch
update runs set epoch = epoch + 1 where run_id = :run_id and status = 'running' returning epoch;

-- name: running_runs
select {run_columns} from runs where status = 'running' order by created_at, run_id;

-- name: end_run
-- `ended_at` is from the last event, unless that clock is behind the start.
update runs set
    status = :status, error_code = :error_code,
    ended_at = case when :ended_at < started_at then :now else :ended_at end, last_seq = :last_seq, goal_met = :goal_met,
    steps = :steps, error_message = :error_message, pending = :pending,
    active_agent = case when :active_agent = agent_name then '' else :active_agent end, needed = :needed,
{charged}
where run_id = :run_id returning session_id, first_pos, number, log_level;

-- name: settle_session
update agent_sessions set updated_at = :now where id = :session_id;

-- name: open_interrupt
insert into interrupts (
    session_id, id, run_id, tool_call_id, tool, arguments, message, state, created_at, expires_at, input
) values (
    :session_id, :id, :run_id, :tool_call_id, :tool, :arguments, :message, 'open', :now, :expires_at, :input
) on conflict do nothing;

-- name: expire_interrupts
update interrupts set state = 'expired', closed_at = :now where state = 'open' and expires_at <= :now returning id;
