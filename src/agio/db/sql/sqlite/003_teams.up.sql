-- Teams on the internet: accounts, invitations, secrets, providers, HTTP tools, files, drafts, the audit log.

alter table users add column removed_at integer;                       -- no member any more; what it did stays readable
alter table api_keys add column permissions text;                      -- JSON list; null: all that its user may do
alter table api_keys add column expires_at integer;
alter table api_keys add column made_by text;                          -- the API key that made it; null: a person, or the operator
alter table web_sessions add column authenticated_at integer not null default 0;
alter table runs add column request_id text not null default '';       -- the request that began it, in every log line
alter table agent_tools add column kind text not null default 'named'; -- named (built in, or a worker's), http
alter table agent_tools add column definition blob;                    -- JSON of an HTTP tool, without its secrets
alter table agent_tools add column updated_at integer not null default 0;

create index api_keys_of_maker on api_keys (made_by) where made_by is not null;

drop index agents_by_name;
create unique index agents_by_name on agents (tenant_id, name) where deleted_at is null and source <> 'inline';

-- People, whichever teams they are in. A password is kept as an Argon2id hash.
create table accounts (
    id text primary key not null,
    email text not null unique,             -- in lower case
    name text not null,
    password_hash text,                     -- null: signs in elsewhere
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;

-- Which user of which team an account is.
create table memberships (
    account_id text not null references accounts (id) on delete cascade,
    tenant_id text not null,
    user_id text not null,
    created_at integer not null,
    primary key (account_id, tenant_id),
    unique (tenant_id, user_id),
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

-- Who an account is at an OpenID provider.
create table identities (
    issuer text not null,
    subject text not null,
    account_id text not null references accounts (id) on delete cascade,
    created_at integer not null,
    unlinked_at integer,                       -- it signs nobody in any more, and no other account either
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
    email text,                             -- null: whoever has the link
    role text not null,                     -- owner, admin, member
    token_hash blob not null unique,
    invited_by text not null,
    created_at integer not null,
    expires_at integer not null,
    closed_at integer,                      -- accepted or revoked
    accepted_by text                        -- the user who came of it
) strict, without rowid;

create index invitations_of_tenant on invitations (tenant_id, created_at, id);

-- Keys of workers: which tenants' runs they may be given.
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
    key_id text not null,                   -- which master key sealed it
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

-- What users say of themselves, or let agents note.
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
    media_type text not null,               -- what the bytes are, whatever was said
    size integer not null,
    digest blob not null,                   -- SHA-256
    created_at integer not null,
    stored_at integer,                -- null: its pieces are still being written, and nobody sees it
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

create index files_of_user on files (tenant_id, user_id, created_at, id);
create index files_of_session on files (session_id);
create index files_unused on files (created_at) where session_id is null;
create index files_unused_of_user on files (tenant_id, user_id, size) where session_id is null;

create table file_chunks (
    file_id text not null references files (id) on delete cascade,
    idx integer not null,
    data blob not null,
    primary key (file_id, idx)
) strict;

-- Tool calls that a person or program made by itself, outside a run: the same record as in one.
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

-- `insert or replace` deletes without asking the trigger below.
create trigger audit_log_is_added_to before insert on audit_log
when exists (select 1 from audit_log where number = new.number)
begin select raise(abort, 'the audit log is append-only'); end;

create trigger audit_log_is_kept before update on audit_log
begin select raise(abort, 'the audit log is append-only'); end;

create trigger audit_log_stays before delete on audit_log
begin select raise(abort, 'the audit log is append-only'); end;
