-- Background jobs and leases. Both are on the database's clock: `clock` is its time in milliseconds.

-- part: job_columns
-- In the order of JobRecord's fields.
    id, tenant_id, kind, key, payload, state, run_at, attempts, lease_until, epoch, error_code, error_message,
    created_at, ended_at

-- part: due_at
    coalesce(lease_until, run_at)

-- part: is_open
-- As the index of open jobs is.
    state in ('queued', 'running')

-- part: is_claimed
-- Whether a claim of job `id` is still valid.
    id = :job_id and epoch = :epoch and state = 'running' and lease_until > {clock}

-- name: add_job
-- A job of this kind with the same key stays.
insert into jobs (id, tenant_id, kind, key, payload, state, run_at, attempts, epoch, created_at)
values (:job_id, :tenant, :kind, :key, :payload, 'queued', {clock} + :delay_ms, 0, 0, {clock})
on conflict do nothing returning id;

-- name: arm_job
-- A job that ended begins anew, one that waits does not wait longer.
insert into jobs (id, tenant_id, kind, key, payload, state, run_at, attempts, epoch, created_at)
values (:job_id, :tenant, :kind, :key, :payload, 'queued', {clock} + :delay_ms, 0, 0, {clock})
on conflict (kind, key) do update set
    state = 'queued', run_at = excluded.run_at, attempts = 0, ended_at = null
where jobs.tenant_id is not distinct from excluded.tenant_id
    and (jobs.state in ('done', 'dead') or jobs.state = 'queued' and jobs.run_at > excluded.run_at);

-- name: arm_extraction
-- As `arm_job`, with the session's tenant.
insert into jobs (id, tenant_id, kind, key, payload, state, run_at, attempts, epoch, created_at)
select :job_id, s.tenant_id, :kind, s.id, {no_bytes}, 'queued', {clock} + :delay_ms, 0, 0, {clock}
from agent_sessions s where s.id = :session_id
on conflict (kind, key) do update set
    state = 'queued', run_at = excluded.run_at, attempts = 0, ended_at = null
where jobs.state in ('done', 'dead') or jobs.state = 'queued' and jobs.run_at > excluded.run_at;

-- name: next_job
-- In how many milliseconds the next job is due.
select {due_at} - {clock} from jobs where {is_open} and {is_known} order by {due_at} limit 1;

-- name: claim_job
-- The job that is due longest: queued, or with a claim that ended.
update jobs set state = 'running', attempts = attempts + 1, epoch = epoch + 1, lease_until = {clock} + :lease_ms
where id = (
    select id from jobs where {is_open} and {due_at} <= {clock} and {is_known} order by {due_at} limit 1 {skip_locked}
)
returning {job_columns};

-- name: renew_job
update jobs set lease_until = {clock} + :lease_ms where {is_claimed} returning id;

-- name: complete_job
-- With `again_ms` it is queued again.
update jobs set
    state = case when cast(:again_ms as bigint) is null then 'done' else 'queued' end,
    run_at = coalesce({clock} + cast(:again_ms as bigint), run_at),
    attempts = case when cast(:again_ms as bigint) is null then attempts else 0 end,
    ended_at = case when cast(:again_ms as bigint) is null then {clock} end,
    lease_until = null, error_code = null, error_message = null
where {is_claimed} returning id;

-- name: stop_job
-- Queued again by the completion in the same transaction, it ends instead.
update jobs set state = 'done', ended_at = {clock} where id = :job_id and epoch = :epoch and state = 'queued';

-- name: fail_job
-- Without `retry_ms` it is dead.
update jobs set
    state = case when cast(:retry_ms as bigint) is null then 'dead' else 'queued' end,
    run_at = coalesce({clock} + cast(:retry_ms as bigint), run_at),
    ended_at = case when cast(:retry_ms as bigint) is null then {clock} end,
    lease_until = null, error_code = :code, error_message = :message
where {is_claimed} returning id;

-- name: release_job
-- The attempt does not count.
update jobs set state = 'queued', run_at = {clock}, attempts = attempts - 1, lease_until = null where {is_claimed};

-- name: bury_unknown_jobs
update jobs set state = 'dead', lease_until = null, ended_at = {clock}, error_code = :code, error_message = :message
where {is_open} and {due_at} <= {clock} - :patience_ms and not {is_known} returning id, kind;

-- name: list_jobs
select {job_columns} from jobs
where tenant_id = :tenant and (created_at, id) < (:created_at, :job_id)
    and (cast(:state as text) is null or state = :state) and (cast(:kind as text) is null or kind = :kind)
order by created_at desc, id desc limit :limit;

-- name: get_job
select {job_columns} from jobs where id = :job_id and tenant_id = :tenant;

-- name: retry_job
update jobs set state = 'queued', run_at = {clock}, attempts = 0, ended_at = null
where id = :job_id and tenant_id = :tenant and state = 'dead' returning {job_columns};

-- name: count_jobs
select
    count(case when state = 'queued' then 1 end) as queued,
    count(case when state = 'running' then 1 end) as running,
    (select count(*) from jobs where state = 'dead') as dead
from jobs where {is_open};

-- name: sweep_jobs
delete from jobs where state = 'done' and ended_at <= :until;

-- name: acquire_lease
-- An epoch is never given out twice, also after the row was swept: it begins with the time.
insert into leases (name, holder, epoch, until) values (:name, :holder, {clock}, {clock} + :for_ms)
on conflict (name) do update set holder = excluded.holder, epoch = leases.epoch + 1, until = excluded.until
where leases.until <= {clock} returning epoch;

-- name: renew_lease
update leases set until = {clock} + :for_ms where {is_held} returning epoch;

-- name: release_lease
update leases set until = {clock} where {is_held} returning epoch;

-- part: is_held
    name = :name and holder = :holder and epoch = :epoch and until > {clock}

-- name: sweep_leases
delete from leases where until <= :until;
