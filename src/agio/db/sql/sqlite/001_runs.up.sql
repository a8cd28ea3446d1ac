-- Runs and their logs. Times are milliseconds since 1970.

create table runs (
    id integer primary key,                 -- order of creation
    run_id text not null unique,
    thread_id text not null,
    agent text not null,
    model text not null,
    status text not null,                   -- running, completed, failed, cancelled, interrupted
    epoch integer not null,                 -- the claim that may write
    last_seq integer not null,              -- while running: the last event in `logs`; the tail goes on from there
    created_at integer not null,
    ended_at integer,
    mark text not null,
    tenant text not null,
    user text not null,
    first_pos integer not null,             -- the thread's position before event 1
    error_code text,
    title text not null
) strict;

create index runs_of_thread on runs (thread_id, id);
create index runs_of_agent on runs (agent, id);
create index runs_running on runs (id) where status = 'running';

-- A run's events as JSON lines: one row when it has ended, more when it was long.
create table logs (
    run_id text not null references runs (run_id),
    first_seq integer not null,
    last_seq integer not null,
    payload blob not null,
    unique (run_id, first_seq)
) strict;

-- The frames of running runs, one row a commit for all of them: msgpack [[run_id, first_seq, count, payload], ...].
create table tail (
    id integer primary key,
    frames blob not null
) strict;

-- Finished model turns, as JSON.
create table turns (
    run_id text not null references runs (run_id),
    seq integer not null,                   -- the turn's last event
    step integer not null,
    record blob not null,
    unique (run_id, seq, step)
) strict;

-- Tool calls that must happen once.
create table tool_calls (
    run_id text not null references runs (run_id),
    key text not null,
    state text not null,                    -- started, finished
    content blob,                           -- JSON, once finished
    error text,
    unique (run_id, key)
) strict;
