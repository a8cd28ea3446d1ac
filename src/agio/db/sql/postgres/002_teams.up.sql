-- Teams on the internet: accounts, invitations, secrets, providers, HTTP tools, files, drafts, the audit log.

alter table users add column removed_at bigint;                       -- no member any more; what it did stays readable
alter table api_keys add column permissions text;                      -- JSON list; null: all that its user may do
alter table api_keys add column expires_at bigint;
alter table api_keys add column made_by text collate "C";              -- the API key that made it; null: a person, or the operator
alter table web_sessions add column authenticated_at bigint not null default 0;
alter table runs add column request_id text not null default '';       -- the request that began it, in every log line
alter table agent_tools add column kind text not null default 'named'; -- named (built in, or a worker's), http
alter table agent_tools add column definition bytea;                    -- JSON of an HTTP tool, without its secrets
alter table agent_tools add column updated_at bigint not null default 0;

create index api_keys_of_maker on api_keys (made_by) where made_by is not null;

drop index agents_by_name;
create unique index agents_by_name on agents (tenant_id, name) where deleted_at is null and source <> 'inline';

-- People, whichever teams they are in. A password is kept as an Argon2id hash.
create table accounts (
    id text collate "C" primary key,
    email text not null unique,             -- in lower case
    name text not null,
    password_hash text,                     -- null: signs in elsewhere
    created_at bigint not null,
    updated_at bigint not null
);

-- Which user of which team an account is.
create table memberships (
    account_id text collate "C" not null references accounts (id) on delete cascade,
    tenant_id text collate "C" not null,
    user_id text collate "C" not null,
    created_at bigint not null,
    primary key (account_id, tenant_id),
    unique (tenant_id, user_id),
    foreign key (tenant_id, user_id) references users (tenant_id, id)
);

-- Who an account is at an OpenID provider.
create table identities (
    issuer text not null,
    subject text not null,
    account_id text collate "C" not null references accounts (id) on delete cascade,
    created_at bigint not null,
    unlinked_at bigint,                        -- it signs nobody in any more, and no other account either
    primary key (issuer, subject)
);

create index identities_of_account on identities (account_id);

-- Links that sign a browser in once. Only a hash is kept.
create table sign_in_links (
    token_hash bytea primary key,
    tenant_id text collate "C" not null,
    user_id text collate "C" not null,
    created_at bigint not null,
    expires_at bigint not null,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
);

create index sign_in_links_of_user on sign_in_links (tenant_id, user_id);
create index sign_in_links_due on sign_in_links (expires_at);

-- Sign-ins that are under way at an OpenID provider.
create table sign_in_flows (
    state_hash bytea primary key,
    flow bytea not null,                     -- JSON: provider, nonce, verifier, where to go afterwards
    created_at bigint not null,
    expires_at bigint not null
);

create index sign_in_flows_due on sign_in_flows (expires_at);

-- Invitations into a team. Only a hash of the link's token is kept.
create table invitations (
    id text collate "C" primary key,
    tenant_id text collate "C" not null references tenants (id),
    email text,                             -- null: whoever has the link
    role text not null,                     -- owner, admin, member
    token_hash bytea not null unique,
    invited_by text not null,
    created_at bigint not null,
    expires_at bigint not null,
    closed_at bigint,                      -- accepted or revoked
    accepted_by text                        -- the user who came of it
);

create index invitations_of_tenant on invitations (tenant_id, created_at, id);

-- Keys of workers: which tenants' runs they may be given.
create table worker_keys (
    id text collate "C" primary key,
    name text not null,
    prefix text not null,
    hash bytea not null unique,
    tenants text,                           -- JSON list; null: every tenant
    created_at bigint not null,
    last_used_at bigint,
    revoked_at bigint
);

-- Credentials, AES-256-GCM. The associated data is tenant, owner and field: no row opens as another.
create table secrets (
    tenant_id text collate "C" not null references tenants (id),
    owner_id text collate "C" not null,                 -- the provider or tool it belongs to, and is deleted with
    field text not null,
    key_id text collate "C" not null,                   -- which master key sealed it
    sealed bytea not null,
    updated_at bigint not null,
    primary key (tenant_id, owner_id, field)
);

create index secrets_by_key on secrets (key_id, tenant_id, owner_id, field);

-- Model providers of a team, by the name its agents use.
create table providers (
    id text collate "C" primary key,
    tenant_id text collate "C" not null references tenants (id),
    name text not null,
    kind text not null,                     -- openai, openai-chat, anthropic, gemini
    base_url text,
    models text not null,                   -- JSON list of names
    created_at bigint not null,
    updated_at bigint not null,
    unique (tenant_id, name)
);

-- What users say of themselves, or let agents note.
create table profiles (
    tenant_id text collate "C" not null,
    user_id text collate "C" not null,
    profile bytea not null,                  -- JSON
    version bigint not null,
    updated_at bigint not null,
    primary key (tenant_id, user_id),
    foreign key (tenant_id, user_id) references users (tenant_id, id)
);

-- Drafts agents write for users; every version is kept.
create table drafts (
    id text collate "C" primary key,
    tenant_id text collate "C" not null,
    user_id text collate "C" not null,
    key text not null,                      -- what the agent calls it: the same key is the same draft
    kind text not null,
    title text not null,
    version bigint not null,               -- the newest
    created_at bigint not null,
    updated_at bigint not null,
    unique (tenant_id, user_id, key),
    foreign key (tenant_id, user_id) references users (tenant_id, id)
);

create index drafts_of_user on drafts (tenant_id, user_id, updated_at, id);

create table draft_versions (
    draft_id text collate "C" not null references drafts (id) on delete cascade,
    version bigint not null,
    title text not null,
    content bytea not null,                  -- JSON
    session_id text collate "C",                        -- where it was written
    run_id text collate "C",
    call_id text collate "C",                           -- the tool call that wrote it: the same call writes once
    created_at bigint not null,
    primary key (draft_id, version)
);

create unique index draft_versions_by_call on draft_versions (draft_id, call_id) where call_id is not null;

-- Files of users. One that no message refers to is deleted after a day.
create table files (
    id text collate "C" primary key,
    tenant_id text collate "C" not null,
    user_id text collate "C" not null,
    session_id text collate "C" references agent_sessions (id) on delete cascade,
    name text not null,                     -- chosen by the server
    media_type text not null,               -- what the bytes are, whatever was said
    size bigint not null,
    digest bytea not null,                   -- SHA-256
    created_at bigint not null,
    stored_at bigint,                 -- null: its pieces are still being written, and nobody sees it
    foreign key (tenant_id, user_id) references users (tenant_id, id)
);

create index files_of_user on files (tenant_id, user_id, created_at, id);
create index files_of_session on files (session_id);
create index files_unused on files (created_at) where session_id is null;
create index files_unused_of_user on files (tenant_id, user_id, size) where session_id is null;

create table file_chunks (
    file_id text collate "C" not null references files (id) on delete cascade,
    idx bigint not null,
    data bytea not null,
    primary key (file_id, idx)
);

-- Tool calls that a person or program made by itself, outside a run: the same record as in one.
create table tool_requests (
    id text collate "C" primary key,
    tenant_id text collate "C" not null,
    user_id text collate "C" not null,
    session_id text collate "C",
    key_hash bytea,                          -- of the caller's idempotency key
    digest bytea not null,                   -- of what was asked
    tool text not null,
    effect text not null,                   -- read, idempotent, once
    state text not null,                    -- started, finished
    content bytea,                           -- JSON
    error text,
    started_at bigint not null,
    ended_at bigint,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
);

create index tool_requests_of_user on tool_requests (tenant_id, user_id, started_at, id);
create unique index tool_requests_by_key on tool_requests (tenant_id, user_id, key_hash) where key_hash is not null;
create index tool_requests_due on tool_requests (started_at);

-- Who did what, when, to which object. Rows are added and never changed.
create table audit_log (
    number bigint generated always as identity primary key,
    tenant_id text collate "C" not null references tenants (id),
    at bigint not null,
    user_id text collate "C" not null,                  -- empty: the operator, at the command line
    credential text not null,               -- the id of the API key or web session
    address text not null,
    request_id text collate "C" not null,
    action text not null,                   -- such as agent.create
    object text not null,                   -- its id
    details text not null                   -- JSON, without secrets and content
);

create index audit_of_tenant on audit_log (tenant_id, number);

create function keep_audit_log() returns trigger language plpgsql as $$
begin
    raise exception 'the audit log is append-only';
end $$;

create trigger audit_log_is_kept before update or delete or truncate on audit_log
for each statement execute function keep_audit_log();
