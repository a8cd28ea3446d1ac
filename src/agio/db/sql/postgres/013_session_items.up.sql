-- Conversations of programs that use the Agents SDK by themselves.
create table session_items (
    tenant_id text collate "C" not null,
    session_key text collate "C" not null,  -- the program's id of the session
    idx bigint not null,                    -- from 1, in the order of the conversation
    item bytea not null,                    -- JSON, as the SDK has it
    primary key (tenant_id, session_key, idx)
);
