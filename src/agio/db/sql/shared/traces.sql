-- The traces that are to be sent, and what became of those that were. `clock` is the database's time.

-- name: queue_trace
insert into trace_queue (run_id, sink, tenant_id, queued_at)
select run_id, :sink, tenant_id, {clock} from runs where run_id = :run_id
on conflict do nothing;

-- name: paused_traces
-- Whether the operator's account at a service waits for its next attempt.
select count(*) from trace_exports where sink = :sink and own = 0 and retry_at > {clock};

-- name: queued_traces
-- The oldest, without those of teams whose own account waits; while the operator's waits, only of teams with one.
select q.run_id, q.tenant_id, q.queued_at from trace_queue q
where q.sink = :sink and (q.queued_at, q.run_id) > (:queued_at, :run_id)
    and (
        cast(:waiting as bigint) = 1 or not exists (
            select 1 from trace_exports e
            where e.sink = :sink and e.tenant_id = q.tenant_id and e.own = 1 and e.retry_at > {clock}
        )
    )
    and (
        cast(:paused as bigint) = 0 or exists (
            select 1 from trace_exports e where e.sink = :sink and e.tenant_id = q.tenant_id and e.own = 1
        )
    )
order by q.queued_at, q.run_id limit :limit;

-- name: take_trace
delete from trace_queue where run_id = :run_id and sink = :sink returning run_id;

-- name: count_traces
-- A success ends the pause of an account, for all its teams.
insert into trace_exports (
    sink, tenant_id, own, sent, refused, failures, retry_at, sent_at, error_code, error_message, error_at
) values (
    :sink, :tenant, :own, cast(:sent as bigint), :refused, 0, 0,
    case when cast(:sent as bigint) > 0 then {clock} end, cast(:code as text), :message,
    case when cast(:code as text) is not null then {clock} end
)
on conflict (tenant_id, sink, own) do update set
    sent = trace_exports.sent + excluded.sent,
    refused = trace_exports.refused + excluded.refused,
    failures = 0, retry_at = 0,
    sent_at = coalesce(excluded.sent_at, trace_exports.sent_at),
    error_code = coalesce(excluded.error_code, trace_exports.error_code),
    error_message = coalesce(excluded.error_message, trace_exports.error_message),
    error_at = coalesce(excluded.error_at, trace_exports.error_at);

-- name: resume_traces
update trace_exports set failures = 0, retry_at = 0 where sink = :sink and own = 0 and retry_at > 0;

-- name: pause_traces
insert into trace_exports (sink, tenant_id, own, sent, refused, failures, retry_at, error_code, error_message, error_at)
values (:sink, :tenant, :own, 0, 0, 1, {clock} + :retry_ms, :code, :message, {clock})
on conflict (tenant_id, sink, own) do update set
    failures = trace_exports.failures + 1, retry_at = excluded.retry_at,
    error_code = excluded.error_code, error_message = excluded.error_message, error_at = excluded.error_at;

-- name: trace_failures
-- How often the operator's account has failed in a row.
select coalesce(max(failures), 0) from trace_exports where sink = :sink and own = 0 and retry_at > 0;

-- name: own_trace_failures
-- How often a team's own account has.
select coalesce(max(failures), 0) from trace_exports where tenant_id = :tenant and sink = :sink and own = 1;

-- name: trace_exports
-- In the order of TraceExport's fields.
select sink, own, sent, refused, failures, retry_at, sent_at, error_code, error_message, error_at
from trace_exports where tenant_id = :tenant order by sink, own;

-- name: trace_backlog
-- Of a team, by service: how many wait, and since when.
select sink, count(*), min(queued_at) from trace_queue
where sink = :sink and (cast(:tenant as text) is null or tenant_id = :tenant) group by sink;
