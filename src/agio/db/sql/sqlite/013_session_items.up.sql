-- Conversations of programs that use the Agents SDK by themselves.
create table session_items (
    tenant_id text not null,
    session_key text not null,              -- the program's id of the session
    idx integer not null,                   -- from 1, in the order of the conversation
    item blob not null,                     -- JSON, as the SDK has it
    primary key (tenant_id, session_key, idx)
) strict, without rowid;
