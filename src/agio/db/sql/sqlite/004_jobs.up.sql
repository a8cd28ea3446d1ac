-- Work in the background, claimed by gateways.
create table jobs (
    id text primary key not null,
    tenant_id text references tenants (id), -- null: the server's own
    kind text not null,
    key text not null,                      -- one job for each key of a kind
    payload blob not null,                  -- JSON
    state text not null,                    -- queued, running, done, dead
    run_at integer not null,                -- when it is due
    attempts integer not null,              -- claims since it last succeeded
    lease_until integer,                    -- when its claim ends; null: it is not claimed
    epoch integer not null,                 -- the number of its claim
    error_code text,                        -- of the last attempt
    error_message text,
    created_at integer not null,
    ended_at integer,
    unique (kind, key)
) strict, without rowid;

create index jobs_due on jobs (coalesce(lease_until, run_at), kind, state) where state in ('queued', 'running');
create index jobs_done on jobs (ended_at) where state = 'done';
create index jobs_dead on jobs (id) where state = 'dead';
create index jobs_of_tenant on jobs (tenant_id, created_at, id);

-- What one process at a time may do or be. Times are of the database's clock.
create table leases (
    name text primary key not null,
    holder text not null,
    epoch integer not null,                 -- grows with every holder
    until integer not null                  -- when it ends
) strict, without rowid;

create index leases_due on leases (until);

insert into jobs (id, tenant_id, kind, key, payload, state, run_at, attempts, epoch, created_at)
select 'job_' || id, id, 'delete_old_sessions', id, x'', 'queued', 0, 0, 0, cast(unixepoch('subsec') * 1000 as integer)
from tenants where retention_days is not null;
