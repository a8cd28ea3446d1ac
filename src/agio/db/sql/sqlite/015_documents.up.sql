-- Collections of documents, the versions of documents, and their passages.
alter table agents add column collections blob;         -- JSON: the ids of its collections; null: none

create table collections (
    id text primary key not null,
    tenant_id text not null references tenants (id),
    user_id text,                           -- null: the team's
    name text not null,
    description text not null,
    deleted_at integer,                     -- its documents are being deleted
    created_at integer not null,
    updated_at integer not null,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

create index collections_by_name on collections (tenant_id, name, id);
create index deleted_collections on collections (deleted_at) where deleted_at is not null;

create table documents (
    id text primary key not null,
    tenant_id text not null references tenants (id),
    collection_id text not null references collections (id) on delete cascade,
    name text not null,
    source text not null,                   -- upload, paste, url
    url text,
    version_id text,                        -- the version that searches find; null: none yet
    created_by text not null,
    deleted_at integer,                     -- its versions are being deleted
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;

create unique index documents_by_name on documents (collection_id, name) where deleted_at is null;
create index documents_of_collection on documents (collection_id);
create index documents_of_tenant on documents (tenant_id, name, id);
create index deleted_documents on documents (deleted_at) where deleted_at is not null;

create table document_versions (
    id text primary key not null,
    tenant_id text not null references tenants (id),
    document_id text not null references documents (id) on delete cascade,
    number integer not null,                -- 1 for the first of its document
    state text not null,                    -- receiving, waiting, extracting, indexing, published, ...
    format text not null,
    media_type text not null,
    size integer not null,
    digest blob not null,                   -- SHA-256 of its bytes
    done integer not null default 0,        -- pages or passages
    pages integer,
    chars integer not null default 0,
    tokens integer not null default 0,
    passages integer not null default 0,
    error_code text,
    error_message text,
    created_by text not null,
    created_at integer not null,
    ended_at integer,
    unique (document_id, number)
) strict, without rowid;

create index unfinished_versions on document_versions (created_at) where state = 'receiving';

create table document_chunks (
    version_id text not null references document_versions (id) on delete cascade,
    idx integer not null,
    data blob not null,
    primary key (version_id, idx)
) strict, without rowid;

-- The text of a version, in its order. The index has its own copy of those that are published.
create table document_passages (
    id text primary key not null,           -- of its version and idx
    tenant_id text not null references tenants (id),
    version_id text not null references document_versions (id) on delete cascade,
    idx integer not null,
    text text not null,
    start_at integer not null,              -- characters of the version's text
    end_at integer not null,
    page integer,
    line integer,
    heading text not null,
    unique (version_id, idx)
) strict, without rowid;

-- The passages that runs of a session saw, by the numbers that its answers cite.
create table session_passages (
    session_id text not null references agent_sessions (id) on delete cascade,
    number integer not null,
    tenant_id text not null references tenants (id),
    passage_id text not null references document_passages (id) on delete cascade,
    primary key (session_id, number),
    unique (session_id, passage_id)
) strict, without rowid;

create index session_passages_of_passage on session_passages (passage_id);

-- The passages that a run began with.
create table run_passages (
    run_id text not null references runs (run_id) on delete cascade,
    session_id text not null,
    number integer not null,
    primary key (run_id, number),
    foreign key (session_id, number) references session_passages (session_id, number) on delete cascade
) strict, without rowid;

create index run_passages_of_session on run_passages (session_id, number);

alter table files add column text blob;                -- what models get of it; null: its bytes
