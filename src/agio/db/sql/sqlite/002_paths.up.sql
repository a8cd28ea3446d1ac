-- Runs form a tree: each continues another, and pins the definition it runs.
alter table runs add column parent_run_id text;         -- the run it continues; null: none. While queued: '' for none, null: the session's newest
alter table runs add column parent_seq integer;            -- the parent's last event
alter table runs add column branched integer not null default 0; -- 1: the runs before it are not just the session's earlier ones
alter table runs add column pending text not null default '[]'; -- JSON: client-side calls that it ended with
alter table runs add column definition text;            -- the digest in `definitions`; null: the agent as it is now
alter table runs add column log_level integer not null default 1; -- what a reader of its log must know

-- The run that the session's next message continues; null: the newest.
alter table agent_sessions add column leaf_run_id text;

update runs set (parent_run_id, parent_seq) = (
    select p.run_id, p.last_seq from runs p
    where p.session_id = runs.session_id and p.first_pos is not null
        and (p.first_pos, p.number) < (runs.first_pos, runs.number)
    order by p.first_pos desc, p.number desc limit 1
)
where first_pos is not null;

update runs set pending = s.pending
from agent_sessions s
where s.pending <> '[]' and runs.run_id = (
    select r.run_id from runs r where r.session_id = s.id and r.first_pos is not null
    order by r.first_pos desc, r.number desc limit 1
);

alter table agent_sessions drop column pending;

-- Definitions that runs pinned: the agent with its tools, as it was.
create table definitions (
    agent_id text not null references agents (id) on delete cascade,
    digest text not null,
    body blob not null,                      -- JSON
    created_at integer not null,
    primary key (agent_id, digest)
) strict, without rowid;
