-- The gateways that share the store: their leases, the runs they hold, what they count together.

-- name: keep_secret
insert into cluster (id, secret) values (1, :secret) on conflict do nothing;

-- name: cluster_secret
select secret from cluster where id = 1;

-- name: lock_gateways
-- One change of what they offer at a time.
update cluster set id = 1 where id = 1;

-- name: join_gateway
-- No row: another gateway with this name is alive.
insert into gateways (id, name, until, master_key, version, offers, agents, started_at)
values (:id, :name, {clock} + :lease_ms, :master_key, :version, :offers, :agents, {clock})
on conflict (name) do update set
    id = excluded.id, until = excluded.until, master_key = excluded.master_key, version = excluded.version,
    offers = excluded.offers, agents = excluded.agents, started_at = excluded.started_at
where gateways.until <= {clock} or gateways.id = excluded.id
returning id;

-- name: renew_gateway
update gateways set until = {clock} + :lease_ms where id = :id returning id;

-- name: put_offers
update gateways set offers = :offers, agents = :agents where id = :id;

-- name: live_gateways
-- In the order of GatewayRecord's fields.
select id, name, master_key, version, offers, agents from gateways where until > {clock} order by started_at, id;

-- name: leave_gateway
delete from gateways where id = :id;

-- name: sweep_gateways
delete from gateways where until <= :until;

-- name: lost_runs
-- Running runs of workers whose gateway is gone, and those that were freed. A program runs its own without a worker.
select {run_columns} from runs
where status = 'running' and worker is not null and gateway <> :gateway
    and not exists (select 1 from gateways g where g.id = runs.gateway and g.until > {clock})
order by created_at, run_id limit :limit;

-- name: flagged_runs
-- A gateway's running runs that are to be cancelled.
select run_id from runs where status = 'running' and gateway = :gateway and cancel_requested_at is not null;

-- name: free_run
update runs set gateway = '' where run_id = :run_id and epoch = :epoch and gateway = :gateway and status = 'running';

-- name: honour_run
update runs set gateway = :gateway where run_id = :run_id and epoch = :epoch and status = 'running' returning run_id;

-- name: call_lease
-- How long a call that has begun may still be performed by its owner.
select owner, lease_until - {clock} from tool_executions where run_id = :run_id and key = :key and state = 'started';

-- name: renew_call
update tool_executions set owner = :owner, lease_until = {clock} + :lease_ms
where run_id = :run_id and key = :key and state = 'started';

-- name: take_attempt
-- No row: too many.
insert into attempts (kind, key, full_at) values (:kind, :key, {clock} + :every_ms)
on conflict (kind, key) do update set
    full_at = case when attempts.full_at > {clock} then attempts.full_at else {clock} end + :every_ms
where attempts.full_at + :every_ms <= {clock} + :burst_ms
returning full_at;

-- name: attempt_wait
-- In how many milliseconds the next attempt is allowed.
select full_at + :every_ms - {clock} - :burst_ms from attempts where kind = :kind and key = :key;

-- name: sweep_attempts
delete from attempts where full_at <= :now;
