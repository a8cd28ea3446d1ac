-- The tables of a store. Times are milliseconds since 1970.

-- Teams. Nothing is shared between them.
create table tenants (
    id text primary key not null,
    name text not null,
    created_at integer not null,
    retention_days integer,                 -- days after its last activity that a session is deleted; null: never
    sdk_sessions text not null default 'build' -- permission that describing an agent for a session needs: build, use
) strict;

-- People, and programs that act for them.
create table users (
    tenant_id text not null references tenants (id),
    id text not null,
    name text not null,
    role text not null,                     -- owner, admin, member
    created_at integer not null,
    removed_at integer,                     -- no member any more; what the user did stays readable
    primary key (tenant_id, id)
) strict, without rowid;

-- Accounts of people, independent of teams. A password is kept as an Argon2id hash.
create table accounts (
    id text primary key not null,
    email text not null unique,             -- in lower case
    name text not null,
    password_hash text,                     -- null: signs in elsewhere
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;

-- The user that an account is in a team.
create table memberships (
    account_id text not null references accounts (id) on delete cascade,
    tenant_id text not null,
    user_id text not null,
    created_at integer not null,
    primary key (account_id, tenant_id),
    unique (tenant_id, user_id),
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

-- Accounts' subjects at OpenID providers.
create table identities (
    issuer text not null,
    subject text not null,
    account_id text not null references accounts (id) on delete cascade,
    created_at integer not null,
    unlinked_at integer,                    -- it signs in no account any more
    primary key (issuer, subject)
) strict, without rowid;

create index identities_of_account on identities (account_id);

-- Links that sign a browser in once. Only a hash is kept.
create table sign_in_links (
    token_hash blob primary key not null,
    tenant_id text not null,
    user_id text not null,
    created_at integer not null,
    expires_at integer not null,
    made_by text,                           -- the owner who made it for a member; null: the operator
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

create index sign_in_links_of_user on sign_in_links (tenant_id, user_id);
create index sign_in_links_due on sign_in_links (expires_at);

-- Sign-ins that are under way at an OpenID provider.
create table sign_in_flows (
    state_hash blob primary key not null,
    flow blob not null,                     -- JSON: provider, nonce, verifier, where to go afterwards
    created_at integer not null,
    expires_at integer not null
) strict, without rowid;

create index sign_in_flows_due on sign_in_flows (expires_at);

-- Invitations into a team. Only a hash of the link's token is kept.
create table invitations (
    id text primary key not null,
    tenant_id text not null references tenants (id),
    email text,                             -- null: anyone who has the link
    role text not null,                     -- owner, admin, member
    token_hash blob not null unique,
    invited_by text not null,
    created_at integer not null,
    expires_at integer not null,
    closed_at integer,                      -- accepted or revoked
    accepted_by text                        -- the user who accepted it
) strict, without rowid;

create index invitations_of_tenant on invitations (tenant_id, created_at, id);

-- Keys of programs. Only a hash is kept.
create table api_keys (
    id text primary key not null,
    tenant_id text not null,
    user_id text not null,
    name text not null,
    prefix text not null,                   -- the key's first characters, for people
    hash blob not null unique,
    permissions text,                       -- JSON list; null: all that its user may do
    made_by text,                           -- the API key that made it; null: a person, or the operator
    created_at integer not null,
    expires_at integer,
    last_used_at integer,
    revoked_at integer,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict;

create index api_keys_of_user on api_keys (tenant_id, user_id, created_at, id);
create index api_keys_of_maker on api_keys (made_by) where made_by is not null;

-- Browsers that are signed in. Only a hash of the cookie is kept.
create table web_sessions (
    id text primary key not null,
    tenant_id text not null,
    user_id text not null,
    token_hash blob not null unique,
    created_at integer not null,
    authenticated_at integer not null default 0, -- when its user last proved who they are
    expires_at integer not null,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict;

create index web_sessions_of_user on web_sessions (tenant_id, user_id);
create index web_sessions_due on web_sessions (expires_at);

-- Keys of workers, and the tenants whose runs each may take.
create table worker_keys (
    id text primary key not null,
    name text not null,
    prefix text not null,
    hash blob not null unique,
    tenants text,                           -- JSON list; null: every tenant
    created_at integer not null,
    last_used_at integer,
    revoked_at integer
) strict, without rowid;

-- Credentials, AES-256-GCM. The associated data is tenant, owner and field: no row opens as another.
create table secrets (
    tenant_id text not null references tenants (id),
    owner_id text not null,                 -- the provider or tool it belongs to, and is deleted with
    field text not null,
    key_id text not null,                   -- the master key that sealed it
    sealed blob not null,
    updated_at integer not null,
    primary key (tenant_id, owner_id, field)
) strict, without rowid;

create index secrets_by_key on secrets (key_id, tenant_id, owner_id, field);

-- Model providers of a team, by the name its agents use.
create table providers (
    id text primary key not null,
    tenant_id text not null references tenants (id),
    name text not null,
    kind text not null,                     -- openai, openai-chat, anthropic, gemini
    base_url text,
    models text not null,                   -- JSON list of names
    created_at integer not null,
    updated_at integer not null,
    unique (tenant_id, name)
) strict, without rowid;

-- Agents. Those with another source than `stored` or `inline` are defined in Python.
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
    output_schema blob,                     -- JSON; null: the answer is text
    limits blob,                            -- JSON of its own limits; null: the server's
    status text not null,                   -- active, inactive
    approval text not null,                 -- tool, ask
    source text not null,                   -- stored, code, library, inline (a session's own)
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer                      -- its sessions stay readable
) strict;

create unique index agents_by_name on agents (tenant_id, name) where deleted_at is null and source <> 'inline';

-- Tools by name; a name is added when an agent is first given it.
create table agent_tools (
    id text primary key not null,
    tenant_id text not null references tenants (id),
    name text not null,
    kind text not null default 'named',     -- named (built in, or a worker's), http
    definition blob,                        -- JSON of an HTTP tool, without its secrets
    created_at integer not null,
    updated_at integer not null default 0,
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
    id text primary key not null,           -- also the threadId of its runs
    tenant_id text not null,
    user_id text not null,
    agent_id text not null references agents (id),
    title text not null,
    on_busy text not null,                  -- queue, refuse, interrupt
    alias text,                             -- the thread id an AG-UI client gave it
    mark text not null,                     -- delimits untrusted text in the prompts of its runs
    pending text not null,                  -- JSON: client-side calls whose results are expected
    seen_pos integer not null default 0,    -- the position up to which it was read
    forked_from text,                       -- the session it was copied from, which may be gone
    created_at integer not null,
    updated_at integer not null,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

create index sessions_of_user on agent_sessions (tenant_id, user_id, updated_at, id, agent_id);
create unique index sessions_by_alias on agent_sessions (tenant_id, user_id, agent_id, alias) where alias is not null;

-- Copies of sessions that are being made. A copy is hidden until it is complete.
create table forks (
    session_id text primary key not null references agent_sessions (id) on delete cascade,
    begun_at integer not null
) strict, without rowid;

create index forks_due on forks (begun_at);

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
    kind text not null,                     -- answer (to a question or of a client's tool) is claimed before message
    epoch integer not null,                 -- the claim that may write; 0 before the first
    last_seq integer not null,              -- while running: the last event in `logs`; the tail goes on from there
    first_pos integer,                      -- the session's position before event 1; null while queued
    created_at integer not null,
    started_at integer,
    ended_at integer,
    cancel_requested_at integer,
    mark text not null,
    title text not null,
    request_id text not null default '',    -- the request that began it, in every log line
    alias text,                             -- the run id an AG-UI client gave it
    key_id text not null default '',        -- the API key that started it; '': a person, or the library
    copied_from text,                       -- the first run it was copied from, which may be gone; null: none
    input blob,                             -- RunAgentInput as JSON until RUN_STARTED has it
    error_code text,
    error_message text,                     -- null unless it failed
    goal_met integer,                       -- 0, 1
    steps integer,                          -- null while it runs
    input_tokens integer,
    output_tokens integer,
    cost real,                              -- null without a price
    usage_partial integer,                  -- 0, 1; null while it runs
    worker text,                            -- the worker that claimed it last
    token_hash blob not null,               -- of the last claim's token
    turns_at_claim integer not null,        -- how many turns were finished at the last claim
    fruitless integer not null,             -- claims in a row that finished no turn
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict;

-- Each index is one more page that accepting a message writes: no two of them answer the same question.
create index runs_of_session on runs (session_id, first_pos, number);
-- By time, so that a list of runs can begin and end at a time.
create index runs_of_user on runs (tenant_id, user_id, created_at, number, agent_id);
create index runs_of_tenant on runs (tenant_id, created_at, number, agent_id);
-- Only the end of a run that did not complete writes it.
create index runs_ended_badly on runs (tenant_id, status, created_at, number, user_id, agent_id)
where status in ('failed', 'cancelled', 'interrupted', 'expired');
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

-- The frames of running runs, one row a commit for all of them: msgpack [[run_id, first_seq, count, payload], ...].
create table tail (
    id integer primary key,
    frames blob not null
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

-- Questions that runs ended with.
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

-- Hashes of idempotency keys. They outlive their session, and are kept 7 days.
create table idempotency_keys (
    tenant_id text not null,
    user_id text not null,
    kind text not null,                     -- key, session (the alias of a deleted session), fork
    scope text not null,                    -- the session; for the alias of a session its agent
    hash blob not null,
    digest blob not null,                   -- of what was sent with it
    run_id text not null,                   -- its result: a run; for a fork the copy's session
    created_at integer not null,
    primary key (tenant_id, user_id, kind, scope, hash),
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

create index idempotency_keys_due on idempotency_keys (created_at);

-- Tool calls that a person or program made outside a run.
create table tool_requests (
    id text primary key not null,
    tenant_id text not null,
    user_id text not null,
    session_id text,
    key_hash blob,                          -- of the caller's idempotency key
    digest blob not null,                   -- of what was asked
    tool text not null,
    effect text not null,                   -- read, idempotent, once
    state text not null,                    -- started, finished
    content blob,                           -- JSON
    error text,
    started_at integer not null,
    ended_at integer,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

create index tool_requests_of_user on tool_requests (tenant_id, user_id, started_at, id);
create unique index tool_requests_by_key on tool_requests (tenant_id, user_id, key_hash) where key_hash is not null;
create index tool_requests_due on tool_requests (started_at);

-- Profiles of users: their own words, and notes of agents.
create table profiles (
    tenant_id text not null,
    user_id text not null,
    profile blob not null,                  -- JSON
    version integer not null,
    updated_at integer not null,
    primary key (tenant_id, user_id),
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

-- Drafts agents write for users; every version is kept.
create table drafts (
    id text primary key not null,
    tenant_id text not null,
    user_id text not null,
    key text not null,                      -- what the agent calls it: the same key is the same draft
    kind text not null,
    title text not null,
    version integer not null,               -- the newest
    created_at integer not null,
    updated_at integer not null,
    unique (tenant_id, user_id, key),
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

create index drafts_of_user on drafts (tenant_id, user_id, updated_at, id);

-- The versions of drafts.
create table draft_versions (
    draft_id text not null references drafts (id) on delete cascade,
    version integer not null,
    title text not null,
    content blob not null,                  -- JSON
    session_id text,                        -- where it was written
    run_id text,
    call_id text,                           -- the tool call that wrote it: the same call writes once
    created_at integer not null,
    primary key (draft_id, version)
) strict, without rowid;

create unique index draft_versions_by_call on draft_versions (draft_id, call_id) where call_id is not null;

-- Files of users. One that no message refers to is deleted after a day.
create table files (
    id text primary key not null,
    tenant_id text not null,
    user_id text not null,
    session_id text references agent_sessions (id) on delete cascade,
    name text not null,                     -- chosen by the server
    media_type text not null,               -- from the bytes, not from what the sender declared
    size integer not null,
    digest blob not null,                   -- SHA-256
    created_at integer not null,
    stored_at integer,                      -- null: its chunks are still being written, and it is hidden
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

create index files_of_user on files (tenant_id, user_id, created_at, id);
create index files_of_session on files (session_id);
create index files_unused on files (created_at) where session_id is null;
create index files_unused_of_user on files (tenant_id, user_id, size) where session_id is null;

-- The bytes of files, in pieces.
create table file_chunks (
    file_id text not null references files (id) on delete cascade,
    idx integer not null,
    data blob not null,
    primary key (file_id, idx)
) strict;

-- Who did what, when, to which object. Rows are added and never changed.
create table audit_log (
    number integer primary key,
    tenant_id text not null references tenants (id),
    at integer not null,
    user_id text not null,                  -- empty: the operator, at the command line
    credential text not null,               -- the id of the API key or web session
    address text not null,
    request_id text not null,
    action text not null,                   -- such as agent.create
    object text not null,                   -- its id
    details text not null                   -- JSON, without secrets and content
) strict;

create index audit_of_tenant on audit_log (tenant_id, number);

-- `insert or replace` deletes a row without firing the delete trigger.
create trigger audit_log_is_added_to before insert on audit_log
when exists (select 1 from audit_log where number = new.number)
begin select raise(abort, 'the audit log is append-only'); end;

create trigger audit_log_is_kept before update on audit_log
begin select raise(abort, 'the audit log is append-only'); end;

create trigger audit_log_stays before delete on audit_log
begin select raise(abort, 'the audit log is append-only'); end;

-- The tenant and the user of a server without accounts.
insert into tenants (id, name, created_at) values ('default', 'Default', cast(unixepoch('subsec') * 1000 as integer));

insert into users (tenant_id, id, name, role, created_at)
values ('default', 'local', 'Local', 'owner', cast(unixepoch('subsec') * 1000 as integer));
