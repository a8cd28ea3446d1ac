-- Runs, their turn records and tool calls.

-- part: run_columns
-- In the order of RunRow's fields.
    run_id, session_id, agent_name, model, status, epoch, last_seq, created_at, ended_at, mark, tenant_id, user_id,
    coalesce(first_pos, 0) as first_pos, error_code, title, agent_id, alias, cancel_requested_at, worker, token_hash,
    started_at, goal_met, request_id, steps, input_tokens, output_tokens, cost, usage_partial, error_message,
    copied_from, parent_run_id, parent_seq, branched, definition, log_level, active_agent, needed, traceparent,
    gateway

-- name: get_run
select {run_columns} from runs where run_id = :run_id;

-- name: find_run
select {run_columns} from runs where run_id = :run_id and tenant_id = :tenant and user_id = :user_id;

-- name: find_alias
select {run_columns} from runs
where session_id = :session_id and alias = :alias and tenant_id = :tenant and user_id = :user_id;

-- name: find_run_of_tenant
-- For users who may see all runs of the tenant.
select {run_columns} from runs where run_id = :run_id and tenant_id = :tenant;

-- part: in_time
-- Within a time range, after the last run of the page before.
created_at >= :since and created_at <= :upto and (created_at < :before_at or number < :before)

-- part: newest_first
order by created_at desc, number desc limit :limit

-- name: find_runs
-- With the run's number, for the cursor.
select {run_columns}, number from runs
where tenant_id = :tenant and user_id = :user_id and {in_time}
    and (cast(:status as text) is null or status = :status)
    and (cast(:agent_id as text) is null or agent_id = :agent_id)
    and (:copies or copied_from is null)
{newest_first};

-- name: find_runs_of_tenant
select {run_columns}, number from runs
where tenant_id = :tenant and {in_time}
    and (cast(:status as text) is null or status = :status)
    and (cast(:agent_id as text) is null or agent_id = :agent_id)
    and (:copies or copied_from is null)
{newest_first};

-- name: find_runs_ended_badly
-- For the rare end states, which have their own index.
select {run_columns}, number from runs
where tenant_id = :tenant and status = :status and status in ('failed', 'cancelled', 'interrupted', 'expired')
    and {in_time}
    and (cast(:user_id as text) is null or user_id = :user_id)
    and (cast(:agent_id as text) is null or agent_id = :agent_id)
    and (:copies or copied_from is null)
{newest_first};

-- name: find_runs_going_on
-- Queued and running runs: a tenant has few.
select {run_columns}, number from runs
where number in (
        select number from runs where tenant_id = :tenant and status = 'running'
        union all
        select number from runs where tenant_id = :tenant and status = 'queued'
    )
    and status = :status and {in_time}
    and (cast(:user_id as text) is null or user_id = :user_id)
    and (cast(:agent_id as text) is null or agent_id = :agent_id)
    and (:copies or copied_from is null)
{newest_first};

-- name: find_runs_of_session
-- A session is short: its runs are read, and sorted.
select {run_columns}, number from runs
where session_id = :session_id and {in_time}
    and (cast(:status as text) is null or status = :status)
    and (cast(:agent_id as text) is null or agent_id = :agent_id)
    and coalesce(tenant_id, '') = :tenant and (cast(:user_id as text) is null or user_id = :user_id)
    and (:copies or copied_from is null)
{newest_first};

-- name: list_runs
select {run_columns} from runs where number < :before order by number desc limit :limit;

-- name: list_runs_of_session
select {run_columns} from runs where session_id = :session_id and number < :before order by number desc limit :limit;

-- name: list_runs_of_agent
-- By the agent's name at the time. Scans from the newest run back; only people at the command line use it.
select {run_columns} from runs where agent_name = :agent and number < :before order by number desc limit :limit;

-- name: list_runs_of_session_and_agent
-- A session is short: its runs are read and those of other agents left out.
select {run_columns} from runs
where session_id = :session_id and coalesce(agent_name, '') = :agent and number < :before
order by number desc limit :limit;

-- name: place_of_run
-- The run's place in the order of creation.
select number from runs where run_id = :run_id;

-- name: running_run_of_session
select run_id from runs
where tenant_id = :tenant and user_id = :user_id and session_id = :session_id and status = 'running';

-- name: run_at
-- The run at a position of the session.
select {run_columns} from runs
where session_id = :session_id and first_pos <= :pos
order by runs.first_pos desc, number desc limit 1;

-- name: runs_from
-- Runs of a session in the order of its stream.
select {run_columns}, number from runs
where session_id = :session_id and first_pos >= :first_pos and (first_pos > :first_pos or number > :number)
order by runs.first_pos, number limit :limit;

-- name: runs_before
-- Runs of a session that began before a position, newest first.
select {run_columns}, number from runs
where session_id = :session_id and first_pos <= :first_pos and (first_pos < :first_pos or number < :number)
order by runs.first_pos desc, number desc limit :limit;

-- name: put_turn
insert into turns (run_id, seq, step, record) values (:run_id, :seq, :step, :record)
on conflict (run_id, seq, step) do update set record = excluded.record;

-- name: find_turn
select 1 from turns where run_id = :run_id and seq = :seq and step = :step;

-- part: charged
    input_tokens = coalesce(input_tokens + :input_tokens, :input_tokens, input_tokens),
    output_tokens = coalesce(output_tokens + :output_tokens, :output_tokens, output_tokens),
    cost = coalesce(cost + :cost, :cost, cost),
    usage_partial = case when usage_partial = 1 then 1 else coalesce(:partial, usage_partial) end

-- name: charge_run
update runs set {charged} where run_id = :run_id;

-- name: read_turns
select record from turns where run_id = :run_id and seq > :after and seq <= :upto order by seq, step;

-- name: get_tool
select content, error from tool_executions where run_id = :run_id and key = :key;

-- name: begin_tool
-- The run's gateway will perform it, or its worker.
insert into tool_executions (run_id, key, tool, effect, lane, state, started_at, owner, lease_until)
select :run_id, :key, :tool, :effect, :lane, 'started', :now, gateway, {clock} + :lease_ms
from runs where run_id = :run_id
on conflict do nothing;

-- name: end_tool
-- The first result stays.
insert into tool_executions (run_id, key, tool, effect, state, content, error, started_at, ended_at)
values (:run_id, :key, '', 'once', 'finished', :content, :error, :now, :now)
on conflict (run_id, key)
do update set state = 'finished', content = excluded.content, error = excluded.error, ended_at = excluded.ended_at
where tool_executions.state = 'started';

-- name: list_tool_executions
-- In the order of ToolExecution's fields.
select t.run_id, t.key, t.tool, t.effect, t.state, t.error, t.started_at, t.ended_at
from tool_executions t join runs r on r.run_id = t.run_id
where t.run_id = :run_id and r.tenant_id = :tenant
    and (cast(:user_id as text) is null or r.user_id = :user_id)
    and (t.started_at, t.key) > (:started_at, :key)
order by t.started_at, t.key limit :limit;
