-- The server: who may see what, agents, sessions, the queue. Times are milliseconds since 1970.
-- What a store of runs had is carried over: each thread becomes a session, each agent's name an agent.

drop index runs_of_thread;
drop index runs_of_agent;
drop index runs_running;
alter table runs rename to old_runs;
alter table logs rename to old_logs;
alter table turns rename to old_turns;

-- Teams. Nothing is shared between them.
create table tenants (
    id text primary key not null,
    name text not null,
    created_at integer not null,
    retention_days integer                  -- how long a session is kept that nobody changes; null: for ever
) strict;

-- People, and programs that act for them.
create table users (
    tenant_id text not null references tenants (id),
    id text not null,
    name text not null,
    role text not null,                     -- owner, admin, member
    created_at integer not null,
    primary key (tenant_id, id)
) strict, without rowid;

-- Keys of programs. Only a hash is kept.
create table api_keys (
    id text primary key not null,
    tenant_id text not null,
    user_id text not null,
    name text not null,
    prefix text not null,                   -- the key's first characters, for people
    hash blob not null unique,
    created_at integer not null,
    last_used_at integer,
    revoked_at integer,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict;

create index api_keys_of_user on api_keys (tenant_id, user_id, created_at, id);

-- Browsers that are signed in. Only a hash of the cookie is kept.
create table web_sessions (
    id text primary key not null,
    tenant_id text not null,
    user_id text not null,
    token_hash blob not null unique,
    created_at integer not null,
    expires_at integer not null,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict;

create index web_sessions_of_user on web_sessions (tenant_id, user_id);
create index web_sessions_due on web_sessions (expires_at);

-- Agents: what a team says of them. Those with another source than `stored` are defined in Python.
create table agents (
    id text primary key not null,
    tenant_id text not null references tenants (id),
    name text not null,
    description text not null,
    goal text,
    system_prompt text not null,
    model_provider text not null,
    model_name text not null,
    temperature real,
    max_steps integer,
    status text not null,                   -- active, inactive
    approval text not null,                 -- tool, ask
    source text not null,                   -- stored, code, library
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer                      -- its sessions stay readable
) strict;

create unique index agents_by_name on agents (tenant_id, name) where deleted_at is null;

-- Tools by name; a name is added when an agent is first given it.
create table agent_tools (
    id text primary key not null,
    tenant_id text not null references tenants (id),
    name text not null,
    created_at integer not null,
    unique (tenant_id, name)
) strict;

-- The tools each agent may use.
create table agent_tool_assignments (
    agent_id text not null references agents (id) on delete cascade,
    tool_id text not null references agent_tools (id),
    idx integer not null,                   -- the order in which the agent has them
    approval text,                          -- never, ask; null: as the tool says
    primary key (agent_id, tool_id)
) strict, without rowid;

create index assignments_of_tool on agent_tool_assignments (tool_id);

-- Sessions: threads of a user with an agent.
create table agent_sessions (
    id text primary key not null,           -- the thread id of its runs
    tenant_id text not null,
    user_id text not null,
    agent_id text not null references agents (id),
    title text not null,
    on_busy text not null,                  -- queue, refuse, interrupt
    alias text,                             -- the thread id an AG-UI client gave it
    mark text not null,                     -- fences untrusted text in the prompts of its runs
    pending text not null,                  -- JSON: client-side calls whose results are expected
    created_at integer not null,
    updated_at integer not null,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

create index sessions_of_user on agent_sessions (tenant_id, user_id, updated_at, id, agent_id);
create unique index sessions_by_alias on agent_sessions (tenant_id, user_id, agent_id, alias) where alias is not null;

-- Runs, from the moment they are accepted.
create table runs (
    number integer primary key,             -- order of creation
    run_id text not null unique,
    session_id text not null references agent_sessions (id) on delete cascade,
    agent_id text not null references agents (id),
    agent_name text not null,               -- the agent's name when the run was made
    tenant_id text not null,
    user_id text not null,
    model text not null,
    status text not null,                   -- queued, running, completed, failed, cancelled, interrupted, expired
    kind text not null,                     -- answer (to a question or of a client's tool) goes before message
    epoch integer not null,                 -- the claim that may write; 0 before the first
    last_seq integer not null,              -- while running: the last event in `logs`; the tail goes on from there
    first_pos integer,                      -- the session's position before event 1; null while queued
    created_at integer not null,
    started_at integer,
    ended_at integer,
    cancel_requested_at integer,
    mark text not null,
    title text not null,
    alias text,                             -- the run id an AG-UI client gave it
    input blob,                             -- RunAgentInput as JSON until RUN_STARTED has it
    error_code text,
    goal_met integer,                       -- 0, 1
    worker text,                            -- who claimed it last
    token_hash blob not null,               -- of the last claim's token
    turns_at_claim integer not null,        -- how many turns were finished at the last claim
    fruitless integer not null,             -- claims in a row that finished no turn
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict;

-- Each of these is one more page that accepting a message writes: what one of them can answer has no other.
create index runs_of_session on runs (session_id, first_pos, number);
create index runs_of_user on runs (tenant_id, user_id, number, agent_id);
create unique index one_running_run on runs (tenant_id, user_id, session_id) where status = 'running';
create index runs_queued on runs (tenant_id, kind, number) where status = 'queued';
create index runs_waiting on runs (tenant_id, user_id, session_id, number) where status = 'queued';
create unique index runs_by_alias on runs (session_id, alias) where alias is not null;

-- A run's events as JSON lines: one row when it has ended, more when it was long.
create table logs (
    run_id text not null references runs (run_id) on delete cascade,
    first_seq integer not null,
    last_seq integer not null,
    payload blob not null,
    primary key (run_id, first_seq)
) strict;

-- Finished model turns, as JSON.
create table turns (
    run_id text not null references runs (run_id) on delete cascade,
    seq integer not null,                   -- the turn's last event
    step integer not null,
    record blob not null,
    primary key (run_id, seq, step)
) strict, without rowid;

-- Tool calls: begun before they act, finished before they are answered.
create table tool_executions (
    run_id text not null references runs (run_id) on delete cascade,
    key text not null,                      -- the call's id: run, step and index
    tool text not null,
    effect text not null,                   -- read, idempotent, once
    state text not null,                    -- started, finished
    content blob,                           -- JSON; null if the result is in the log alone
    error text,
    started_at integer not null,
    ended_at integer,
    primary key (run_id, key)
) strict, without rowid;

-- Finished messages of sessions, as AG-UI JSON.
create table agent_session_messages (
    session_id text not null references agent_sessions (id) on delete cascade,
    id text not null,
    run_id text not null,
    run_number integer not null,
    idx integer not null,                   -- the order within a run
    pos integer,                            -- the session's position; null while the run is queued
    role text not null,
    message blob not null,
    created_at integer not null,
    primary key (session_id, id)
) strict, without rowid;

create index messages_in_order on agent_session_messages (session_id, pos, run_number, idx);

-- Questions runs ended with.
create table interrupts (
    session_id text not null references agent_sessions (id) on delete cascade,
    id text not null,
    run_id text not null references runs (run_id) on delete cascade,
    tool_call_id text not null,
    tool text not null,
    arguments text not null,
    message text not null,
    state text not null,                    -- open, resolved, cancelled, expired
    created_at integer not null,
    expires_at integer not null,
    closed_at integer,
    closed_by text,                         -- the run that answered or cancelled it
    primary key (session_id, id)
) strict;

create index interrupts_in_order on interrupts (session_id, created_at, id);
create index interrupts_of_run on interrupts (run_id);
create index interrupts_open on interrupts (session_id) where state = 'open';
create index interrupts_due on interrupts (expires_at) where state = 'open';

-- Hashes of what must not happen twice. They outlive their session, and are kept 7 days.
create table idempotency_keys (
    tenant_id text not null,
    user_id text not null,
    kind text not null,                     -- key, session (the alias of a deleted session), fork
    scope text not null,                    -- the session; for the alias of a session its agent
    hash blob not null,
    digest blob not null,                   -- of what was sent with it
    run_id text not null,                   -- what it made: a run; for a fork the copy's session
    created_at integer not null,
    primary key (tenant_id, user_id, kind, scope, hash),
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

create index idempotency_keys_due on idempotency_keys (created_at);

insert into tenants (id, name, created_at) values ('default', 'Default', cast(unixepoch('subsec') * 1000 as integer));
insert into tenants (id, name, created_at)
select tenant, tenant, min(created_at) from old_runs where tenant <> 'default' group by tenant;

insert into users (tenant_id, id, name, role, created_at)
values ('default', 'local', 'Local', 'owner', cast(unixepoch('subsec') * 1000 as integer));
insert into users (tenant_id, id, name, role, created_at)
select tenant, user, user, 'member', min(created_at) from old_runs
where (tenant, user) <> ('default', 'local') group by tenant, user;

insert into agents (
    id, tenant_id, name, description, system_prompt, model_provider, model_name, status, approval, source,
    created_at, updated_at
)
select
    'agt_' || lower(hex(randomblob(13))), newest.tenant, newest.agent, '', '', '', newest.model, 'inactive', 'tool',
    'library', grouped.created_at, newest.created_at
from (select max(id) as id, min(created_at) as created_at from old_runs group by tenant, agent) as grouped
join old_runs as newest on newest.id = grouped.id;

insert into agent_sessions (
    id, tenant_id, user_id, agent_id, title, on_busy, mark, pending, created_at, updated_at
)
select
    oldest.thread_id, oldest.tenant, oldest.user, agents.id, oldest.title, 'queue', oldest.mark, '[]',
    oldest.created_at, grouped.updated_at
from (
    select min(id) as id, max(coalesce(ended_at, created_at)) as updated_at from old_runs group by thread_id
) as grouped
join old_runs as oldest on oldest.id = grouped.id
join agents on agents.tenant_id = oldest.tenant and agents.name = oldest.agent;

insert into runs (
    number, run_id, session_id, agent_id, agent_name, tenant_id, user_id, model, status, kind, epoch, last_seq,
    first_pos, created_at, started_at, ended_at, mark, title, error_code, token_hash, turns_at_claim, fruitless
)
select
    old_runs.id, run_id, thread_id, agents.id, agent, tenant, user, model, old_runs.status, 'message', epoch, last_seq,
    first_pos, old_runs.created_at, old_runs.created_at, ended_at, mark, title, error_code, x'', 0, 0
from old_runs join agents on agents.tenant_id = old_runs.tenant and agents.name = old_runs.agent;

insert into logs (run_id, first_seq, last_seq, payload) select run_id, first_seq, last_seq, payload from old_logs;
insert into turns (run_id, seq, step, record) select run_id, seq, step, record from old_turns;
insert into tool_executions (run_id, key, tool, effect, state, content, error, started_at)
select tool_calls.run_id, key, '', 'once', state, content, error, created_at
from tool_calls join old_runs on old_runs.run_id = tool_calls.run_id;

drop table tool_calls;
drop table old_turns;
drop table old_logs;
drop table old_runs;
