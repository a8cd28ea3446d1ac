-- The gateways that share this store, each for as long as it extends its lease.
create table gateways (
    id text primary key,
    name text not null unique,
    until integer not null,                      -- when its lease ends, on the database's clock
    master_key text not null,               -- the id of the key it seals credentials with; empty: none
    version text not null,
    offers blob not null,                     -- JSON: what its workers offer
    agents blob not null,                     -- JSON: the agents in code of its workers, by tenant
    started_at integer not null
);

-- What the gateways have in common.
create table cluster (
    id integer primary key check (id = 1),
    secret blob not null                      -- proves that a message on the bus is from one of them
);

-- Attempts to authenticate, counted for all gateways together.
create table attempts (
    kind text not null,
    key text not null,                    -- an address, an email address
    full_at integer not null,                    -- when as many attempts are allowed as ever
    primary key (kind, key)
);

create index attempts_due on attempts (full_at);

-- The gateway that holds a running run's claim; empty: none, and any may take it over.
alter table runs add column gateway text not null default '';

-- The gateway that performs a call, and how long others wait for its result.
alter table tool_executions add column owner text not null default '';
alter table tool_executions add column lease_until integer;
