-- Lanes of sub-agents, and input for a run that has begun.
alter table tool_executions add column lane text not null default ''; -- the sub-agent that calls; '': the run's agent

-- Input for a running run: messages of its session, each consumed by one of the run's events.
create table run_inputs (
    run_id text not null references runs (run_id) on delete cascade,
    idx integer not null,
    message_id text not null,
    consumed integer not null default 0,   -- 1: an event has it
    primary key (run_id, idx)
) strict, without rowid;
