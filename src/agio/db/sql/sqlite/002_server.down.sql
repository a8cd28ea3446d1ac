-- Back to a store of runs: those that have begun stay, with their logs; the rest is dropped.

drop table idempotency_keys;
drop table interrupts;
drop table agent_session_messages;

alter table runs rename to new_runs;
alter table logs rename to new_logs;
alter table turns rename to new_turns;

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

create table logs (
    run_id text not null references runs (run_id),
    first_seq integer not null,
    last_seq integer not null,
    payload blob not null,
    unique (run_id, first_seq)
) strict;

create table turns (
    run_id text not null references runs (run_id),
    seq integer not null,                   -- the turn's last event
    step integer not null,
    record blob not null,
    unique (run_id, seq, step)
) strict;

create table tool_calls (
    run_id text not null references runs (run_id),
    key text not null,
    state text not null,                    -- started, finished
    content blob,                           -- JSON, once finished
    error text,
    unique (run_id, key)
) strict;

insert into runs (
    id, run_id, thread_id, agent, model, status, epoch, last_seq, created_at, ended_at, mark, tenant, user, first_pos,
    error_code, title
)
select
    number, run_id, session_id, agent_name, model, status, epoch, last_seq, created_at, ended_at, mark, tenant_id, user_id,
    first_pos, error_code, title
from new_runs where first_pos is not null;

insert into logs (run_id, first_seq, last_seq, payload) select run_id, first_seq, last_seq, payload from new_logs;
insert into turns (run_id, seq, step, record) select run_id, seq, step, record from new_turns;
insert into tool_calls (run_id, key, state, content, error)
select run_id, key, state, content, error from tool_executions;

drop table tool_executions;
drop table new_turns;
drop table new_logs;
drop table new_runs;
drop table agent_sessions;
drop table agent_tool_assignments;
drop table agent_tools;
drop table agents;
drop table web_sessions;
drop table api_keys;
drop table users;
drop table tenants;
