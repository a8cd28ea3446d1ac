-- How far a user has read a session, and which session it is a copy of.

alter table agent_sessions add column seen_pos integer not null default 0;  -- the position up to which it was read
alter table agent_sessions add column forked_from text;      -- the session it was copied from, which may be gone

-- What there is counts as read.
update agent_sessions set seen_pos = coalesce(
    (
        select first_pos + last_seq from runs
        where runs.session_id = agent_sessions.id and first_pos is not null
        order by first_pos desc, number desc limit 1
    ),
    0
);

-- Copies of sessions that are being made: until one is whole it is nobody's.
create table forks (
    session_id text primary key not null references agent_sessions (id) on delete cascade,
    begun_at integer not null
) strict, without rowid;

create index forks_due on forks (begun_at);
