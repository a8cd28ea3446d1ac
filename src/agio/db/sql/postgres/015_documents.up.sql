-- Collections of documents, the versions of documents, and their passages.
alter table agents add column collections bytea;         -- JSON: the ids of its collections; null: none

create table collections (
    id text collate "C" primary key not null,
    tenant_id text collate "C" not null references tenants (id),
    user_id text collate "C",                           -- null: the team's
    name text collate "C" not null,
    description text collate "C" not null,
    deleted_at bigint,                     -- its documents are being deleted
    created_at bigint not null,
    updated_at bigint not null,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
);

create index collections_by_name on collections (tenant_id, name, id);
create index deleted_collections on collections (deleted_at) where deleted_at is not null;

create table documents (
    id text collate "C" primary key not null,
    tenant_id text collate "C" not null references tenants (id),
    collection_id text collate "C" not null references collections (id) on delete cascade,
    name text collate "C" not null,
    source text collate "C" not null,                   -- upload, paste, url
    url text collate "C",
    version_id text collate "C",                        -- the version that searches find; null: none yet
    created_by text collate "C" not null,
    deleted_at bigint,                     -- its versions are being deleted
    created_at bigint not null,
    updated_at bigint not null
);

create unique index documents_by_name on documents (collection_id, name) where deleted_at is null;
create index documents_of_collection on documents (collection_id);
create index documents_of_tenant on documents (tenant_id, name, id);
create index deleted_documents on documents (deleted_at) where deleted_at is not null;

create table document_versions (
    id text collate "C" primary key not null,
    tenant_id text collate "C" not null references tenants (id),
    document_id text collate "C" not null references documents (id) on delete cascade,
    number bigint not null,                -- 1 for the first of its document
    state text collate "C" not null,                    -- receiving, waiting, extracting, indexing, published, ...
    format text collate "C" not null,
    media_type text collate "C" not null,
    size bigint not null,
    digest bytea not null,                   -- SHA-256 of its bytes
    done bigint not null default 0,        -- pages or passages
    pages bigint,
    chars bigint not null default 0,
    tokens bigint not null default 0,
    passages bigint not null default 0,
    error_code text collate "C",
    error_message text collate "C",
    created_by text collate "C" not null,
    created_at bigint not null,
    ended_at bigint,
    unique (document_id, number)
);

create index unfinished_versions on document_versions (created_at) where state = 'receiving';

create table document_chunks (
    version_id text collate "C" not null references document_versions (id) on delete cascade,
    idx bigint not null,
    data bytea not null,
    primary key (version_id, idx)
);

-- The text of a version, in its order. The index has its own copy of those that are published.
create table document_passages (
    id text collate "C" primary key not null,           -- of its version and idx
    tenant_id text collate "C" not null references tenants (id),
    version_id text collate "C" not null references document_versions (id) on delete cascade,
    idx bigint not null,
    text text collate "C" not null,
    start_at bigint not null,              -- characters of the version's text collate "C"
    end_at bigint not null,
    page bigint,
    line bigint,
    heading text collate "C" not null,
    unique (version_id, idx)
);

-- The passages that runs of a session saw, by the numbers that its answers cite.
create table session_passages (
    session_id text collate "C" not null references agent_sessions (id) on delete cascade,
    number bigint not null,
    tenant_id text collate "C" not null references tenants (id),
    passage_id text collate "C" not null references document_passages (id) on delete cascade,
    primary key (session_id, number),
    unique (session_id, passage_id)
);

create index session_passages_of_passage on session_passages (passage_id);

-- The passages that a run began with.
create table run_passages (
    run_id text collate "C" not null references runs (run_id) on delete cascade,
    session_id text collate "C" not null,
    number bigint not null,
    primary key (run_id, number),
    foreign key (session_id, number) references session_passages (session_id, number) on delete cascade
);

create index run_passages_of_session on run_passages (session_id, number);

alter table files add column text bytea;                -- what models get of it; null: its bytes
