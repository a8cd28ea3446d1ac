-- What agents remember, and the index that finds it.
alter table agents add column memory text collate "C" not null default 'suggest';         -- off, suggest, automatic
alter table agents add column search_conversations integer not null default 0; -- 0, 1: its runs find the user's others
alter table agent_sessions add column closed_at bigint;                      -- null: open; a new message opens it
alter table runs add column extracted_at bigint;                             -- when its memories were suggested

-- Memories. Those of a session are deleted with it.
create table agent_long_term_memory (
    id text collate "C" primary key,
    tenant_id text collate "C" not null,
    agent_id text collate "C" references agents (id),   -- null: every agent of the user
    user_id text collate "C",                           -- null: everybody who uses the agent
    content text collate "C" not null,
    memory_type text collate "C" not null,              -- fact, preference, episode, instruction
    importance double precision not null,               -- 0 to 1
    access_count bigint not null default 0, -- in how many runs it was used
    accessed_at bigint,
    digest bytea not null,                   -- of its text and scope: the same is not added twice
    session_id text collate "C" references agent_sessions (id) on delete cascade,
    run_id text collate "C",                            -- where it was said
    message_id text collate "C",
    call_id text collate "C",                           -- the tool call that saved it
    created_by text collate "C",                        -- who wrote or approved it; null: the policy is automatic
    observed_at bigint not null,
    superseded_by text collate "C",
    expires_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
);

create index memories_of_user on agent_long_term_memory (tenant_id, user_id, created_at, id);
create index memories_of_agent on agent_long_term_memory (tenant_id, agent_id, created_at, id) where user_id is null;
create index memories_of_session on agent_long_term_memory (session_id);
create unique index memories_by_text on agent_long_term_memory (tenant_id, digest);

-- The runs that used a memory.
create table memory_uses (
    memory_id text collate "C" not null references agent_long_term_memory (id) on delete cascade,
    run_id text collate "C" not null references runs (run_id) on delete cascade,
    primary key (memory_id, run_id)
);

create index memory_uses_of_run on memory_uses (run_id);

-- Suggested memories. One that was decided keeps its digest only, so that it is not suggested again.
create table memory_suggestions (
    id text collate "C" primary key,
    tenant_id text collate "C" not null,
    agent_id text collate "C" not null references agents (id),
    user_id text collate "C" not null,
    content text collate "C" not null,
    memory_type text collate "C" not null,
    importance double precision not null,
    scope text collate "C" not null,                    -- user_agent, user, agent
    state text collate "C" not null,                    -- pending, approved, rejected
    digest bytea not null,
    session_id text collate "C" references agent_sessions (id) on delete cascade,
    run_id text collate "C",
    message_id text collate "C",
    call_id text collate "C",
    supersedes text collate "C",                        -- the memory that it replaces
    observed_at bigint not null,
    expires_at bigint,
    announced_at bigint,                   -- when a run of its session said so
    created_at bigint not null,
    updated_at bigint not null,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
);

create index suggestions_of_user on memory_suggestions (tenant_id, user_id, state, created_at, id);
create index suggestions_of_session on memory_suggestions (session_id);
create unique index suggestions_by_text on memory_suggestions (tenant_id, user_id, digest);

-- What a tenant spent on extraction, by day.
create table extraction_spending (
    tenant_id text collate "C" not null references tenants (id),
    day bigint not null,                   -- days since 1970
    tokens bigint not null,
    cost double precision not null,
    primary key (tenant_id, day)
);

-- Searchable texts. They are deleted with what they are the text of.
create table passages (
    number bigint generated always as identity primary key,
    tenant_id text collate "C" not null references tenants (id),
    place text collate "C" not null,                    -- who may find it
    kind text collate "C" not null,                     -- memory, message, document
    item_id text collate "C" not null,
    at bigint not null,                    -- the time that it is about
    text text collate "C" not null,
    stems text collate "C" not null,                    -- the words of the text, as the index has them
    unique (tenant_id, kind, item_id)
);

create index passages_in_place on passages (tenant_id, place, at);

-- Each word with its place before it: a search reads the rows of its places only, however many others there are.
create index passages_by_word on passages
using gin (array_to_tsvector(string_to_array(place || replace(stems, ' ', ' ' || place), ' ')));

create function delete_passage_of_memory() returns trigger language plpgsql as $$
begin
    delete from passages where tenant_id = old.tenant_id and kind = 'memory' and item_id = old.id;
    return null;
end $$;

create trigger memories_deleted after delete on agent_long_term_memory
for each row execute function delete_passage_of_memory();

create function delete_passages_of_session() returns trigger language plpgsql as $$
begin
    delete from passages
    where tenant_id = old.tenant_id and kind = 'message' and item_id > old.id || '/' and item_id < old.id || '0';
    return null;
end $$;

create trigger sessions_deleted after delete on agent_sessions
for each row execute function delete_passages_of_session();
