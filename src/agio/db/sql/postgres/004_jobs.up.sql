-- Work in the background, claimed by gateways.
create table jobs (
    id text collate "C" primary key,
    tenant_id text collate "C" references tenants (id), -- null: the server's own
    kind text collate "C" not null,
    key text collate "C" not null,          -- one job for each key of a kind
    payload bytea not null,                 -- JSON
    state text not null,                    -- queued, running, done, dead
    run_at bigint not null,                 -- when it is due
    attempts bigint not null,               -- claims since it last succeeded
    lease_until bigint,                     -- when its claim ends; null: it is not claimed
    epoch bigint not null,                  -- the number of its claim
    error_code text,                        -- of the last attempt
    error_message text,
    created_at bigint not null,
    ended_at bigint,
    unique (kind, key)
);

create index jobs_due on jobs (coalesce(lease_until, run_at), kind, state) where state in ('queued', 'running');
create index jobs_done on jobs (ended_at) where state = 'done';
create index jobs_dead on jobs (id) where state = 'dead';
create index jobs_of_tenant on jobs (tenant_id, created_at, id);

-- What one process at a time may do or be. Times are of the database's clock.
create table leases (
    name text collate "C" primary key,
    holder text not null,
    epoch bigint not null,                  -- grows with every holder
    until bigint not null                   -- when it ends
);

create index leases_due on leases (until);

insert into jobs (id, tenant_id, kind, key, payload, state, run_at, attempts, epoch, created_at)
select 'job_' || id, id, 'delete_old_sessions', id, ''::bytea, 'queued', 0, 0, 0, (extract(epoch from clock_timestamp()) * 1000)::bigint
from tenants where retention_days is not null;
