-- Traces of runs, sent to services outside.
alter table tenants add column traces text not null default 'content'; -- what the dashboard gets of it: content, structure, off
alter table runs add column traceparent text not null default ''; -- the W3C trace context it continues; '': none

-- Ended runs whose trace is to be sent.
create table trace_queue (
    run_id text not null references runs (run_id) on delete cascade,
    sink text not null,                     -- openai, otlp
    tenant_id text not null,
    queued_at bigint not null,
    primary key (run_id, sink)
);

create index trace_queue_due on trace_queue (sink, queued_at, run_id);

-- What became of a team's traces.
create table trace_exports (
    sink text not null,
    tenant_id text not null references tenants (id),
    own bigint not null,                   -- 1: sent with the team's own key
    sent bigint not null,                  -- runs
    refused bigint not null,               -- runs that the service refused for good
    failures bigint not null,              -- in a row
    retry_at bigint not null,              -- when it is tried again after a failure
    sent_at bigint,
    error_code text,
    error_message text,
    error_at bigint,
    primary key (tenant_id, sink, own)
);

create index trace_exports_waiting on trace_exports (sink, own, retry_at);
