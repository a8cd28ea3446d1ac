-- Runs form a tree: each continues another, and pins the definition it runs.
alter table runs add column parent_run_id text collate "C";         -- the run it continues; null: none. While queued: '' for none, null: the session's newest
alter table runs add column parent_seq bigint;            -- the parent's last event
alter table runs add column branched bigint not null default 0; -- 1: the runs before it are not just the session's earlier ones
alter table runs add column pending text not null default '[]'; -- JSON: client-side calls that it ended with
alter table runs add column definition text collate "C";            -- the digest in `definitions`; null: the agent as it is now
alter table runs add column log_level bigint not null default 1; -- what a reader of its log must know

-- The run that the session's next message continues; null: the newest.
alter table agent_sessions add column leaf_run_id text collate "C";

update runs set parent_run_id = p.run_id, parent_seq = p.last_seq
from (
    select number, lag(run_id) over w as run_id, lag(last_seq) over w as last_seq
    from runs where first_pos is not null
    window w as (partition by session_id order by first_pos, number)
) p
where p.number = runs.number and p.run_id is not null;

update runs set pending = s.pending
from agent_sessions s
where s.pending <> '[]' and runs.run_id = (
    select r.run_id from runs r where r.session_id = s.id and r.first_pos is not null
    order by r.first_pos desc, r.number desc limit 1
);

alter table agent_sessions drop column pending;

-- Definitions that runs pinned: the agent with its tools, as it was.
create table definitions (
    agent_id text collate "C" not null references agents (id) on delete cascade,
    digest text collate "C" not null,
    body bytea not null,                      -- JSON
    created_at bigint not null,
    primary key (agent_id, digest)
);
