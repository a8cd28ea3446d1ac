-- What agents remember, and the index that finds it.
alter table agents add column memory text not null default 'suggest';         -- off, suggest, automatic
alter table agents add column search_conversations integer not null default 0; -- 0, 1: its runs find the user's others
alter table agent_sessions add column closed_at integer;                      -- null: open; a new message opens it
alter table runs add column extracted_at integer;                             -- when its memories were suggested

-- Memories. Those of a session are deleted with it.
create table agent_long_term_memory (
    id text primary key not null,
    tenant_id text not null,
    agent_id text references agents (id),   -- null: every agent of the user
    user_id text,                           -- null: everybody who uses the agent
    content text not null,
    memory_type text not null,              -- fact, preference, episode, instruction
    importance real not null,               -- 0 to 1
    access_count integer not null default 0, -- in how many runs it was used
    accessed_at integer,
    digest blob not null,                   -- of its text and scope: the same is not added twice
    session_id text references agent_sessions (id) on delete cascade,
    run_id text,                            -- where it was said
    message_id text,
    call_id text,                           -- the tool call that saved it
    created_by text,                        -- who wrote or approved it; null: the policy is automatic
    observed_at integer not null,
    superseded_by text,
    expires_at integer,
    created_at integer not null,
    updated_at integer not null,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

create index memories_of_user on agent_long_term_memory (tenant_id, user_id, created_at, id);
create index memories_of_agent on agent_long_term_memory (tenant_id, agent_id, created_at, id) where user_id is null;
create index memories_of_session on agent_long_term_memory (session_id);
create unique index memories_by_text on agent_long_term_memory (tenant_id, digest);

-- The runs that used a memory.
create table memory_uses (
    memory_id text not null references agent_long_term_memory (id) on delete cascade,
    run_id text not null references runs (run_id) on delete cascade,
    primary key (memory_id, run_id)
) strict, without rowid;

create index memory_uses_of_run on memory_uses (run_id);

-- Suggested memories. One that was decided keeps its digest only, so that it is not suggested again.
create table memory_suggestions (
    id text primary key not null,
    tenant_id text not null,
    agent_id text not null references agents (id),
    user_id text not null,
    content text not null,
    memory_type text not null,
    importance real not null,
    scope text not null,                    -- user_agent, user, agent
    state text not null,                    -- pending, approved, rejected
    digest blob not null,
    session_id text references agent_sessions (id) on delete cascade,
    run_id text,
    message_id text,
    call_id text,
    supersedes text,                        -- the memory that it replaces
    observed_at integer not null,
    expires_at integer,
    announced_at integer,                   -- when a run of its session said so
    created_at integer not null,
    updated_at integer not null,
    foreign key (tenant_id, user_id) references users (tenant_id, id)
) strict, without rowid;

create index suggestions_of_user on memory_suggestions (tenant_id, user_id, state, created_at, id);
create index suggestions_of_session on memory_suggestions (session_id);
create unique index suggestions_by_text on memory_suggestions (tenant_id, user_id, digest);

-- What a tenant spent on extraction, by day.
create table extraction_spending (
    tenant_id text not null references tenants (id),
    day integer not null,                   -- days since 1970
    tokens integer not null,
    cost real not null,
    primary key (tenant_id, day)
) strict, without rowid;

-- Searchable texts. They are deleted with what they are the text of.
create table passages (
    number integer primary key,
    tenant_id text not null references tenants (id),
    place text not null,                    -- who may find it
    kind text not null,                     -- memory, message, document
    item_id text not null,
    at integer not null,                    -- the time that it is about
    text text not null,
    stems text not null,                    -- the words of the text, as the index has them
    unique (tenant_id, kind, item_id)
) strict;

create index passages_in_place on passages (tenant_id, place, at);

-- Each word with its place before it: a search reads the rows of its places only, however many others there are.
create view passage_tokens as
select number, substr(replace(' ' || stems, ' ', ' ' || place), 2) as words from passages;

create virtual table passage_words using fts5 (
    words, content = 'passage_tokens', content_rowid = 'number', detail = none, columnsize = 0, tokenize = "ascii tokenchars '_'"
);

-- What is deleted leaves the index's pages at once.
insert into passage_words (passage_words, rank) values ('secure-delete', 1);

create trigger passages_added after insert on passages
begin
    insert into passage_words (rowid, words)
    values (new.number, replace(' ' || new.stems, ' ', ' ' || new.place));
end;

create trigger passages_changed after update of place, stems on passages
begin
    insert into passage_words (passage_words, rowid, words)
    values ('delete', old.number, replace(' ' || old.stems, ' ', ' ' || old.place));
    insert into passage_words (rowid, words)
    values (new.number, replace(' ' || new.stems, ' ', ' ' || new.place));
end;

create trigger passages_deleted after delete on passages
begin
    insert into passage_words (passage_words, rowid, words)
    values ('delete', old.number, replace(' ' || old.stems, ' ', ' ' || old.place));
end;

create trigger memories_deleted after delete on agent_long_term_memory
begin delete from passages where tenant_id = old.tenant_id and kind = 'memory' and item_id = old.id; end;

create trigger sessions_deleted after delete on agent_sessions
begin
    delete from passages
    where tenant_id = old.tenant_id and kind = 'message' and item_id > old.id || '/' and item_id < old.id || '0';
end;
