-- The queries of the SQLite store that differ from `shared`. Lists are bound as JSON.

-- name: count_tables
-- 0: the file is new.
select count(*) from sqlite_schema where type = 'table';

-- name: has_migrations
select count(*) from sqlite_schema where type = 'table' and name = 'schema_migrations';

-- name: create_migrations
create table if not exists schema_migrations (
    version integer primary key,
    name text not null,
    applied_at integer not null
) strict;

-- name: applied_migrations
select version, name from schema_migrations order by version;

-- name: add_migration
insert into schema_migrations (version, name, applied_at) values (:version, :name, :now);

-- name: remove_migration
delete from schema_migrations where version = :version;

-- name: copy_store
-- A consistent copy in a new file, rebuilt without free pages and their deleted data.
vacuum into :path;

-- name: newest_run_at
select max(created_at) from (select created_at from runs order by number desc limit 1);

-- name: tools_of_agents
select x.agent_id, t.name, x.approval, t.id, t.kind, t.definition, t.updated_at
from agent_tool_assignments x join agent_tools t on t.id = x.tool_id
where x.agent_id in (select value from json_each(:agent_ids)) and t.tenant_id = :tenant
order by x.agent_id, x.idx;

-- name: names_of_users
-- Also of removed members.
select id, name from users where tenant_id = :tenant and id in (select value from json_each(:user_ids));

-- name: questions_of_runs
-- The states of runs' questions.
select i.run_id, i.state from interrupts i join runs r on r.run_id = i.run_id
where r.tenant_id = :tenant and i.run_id in (select value from json_each(:run_ids));

-- part: said
-- The text of message `m`.
    said(m.message)

-- part: said_at
-- The position of the search text in it; 0: none.
    instr(fold_case({said}), :needle)

-- part: is_found
-- Whether the title or a message of session `s` has the search text.
    cast(:needle as text) is null
    or instr(fold_case(s.title), :needle) > 0
    or exists (
        select 1 from agent_session_messages m
        where m.session_id = s.id and m.role in ('user', 'assistant') and {said_at} > 0
    )

-- name: find_places
-- The newest matching message of each session, queued runs first: position, length of its text, text around.
-- SQLite sorts NULLs first, so they are looked up separately.
select s.id, m.id, m.run_id, {said_at} as place, length({said}) as chars,
    substr({said}, max({said_at} - :around, 1), :span) as words
from agent_sessions s join agent_session_messages m on m.session_id = s.id and m.id = coalesce(
    (
        select m.id from agent_session_messages m
        where m.session_id = s.id and m.pos is null and m.role in ('user', 'assistant') and {said_at} > 0
        order by m.run_number desc, m.idx desc limit 1
    ),
    (
        select m.id from agent_session_messages m
        where m.session_id = s.id and m.pos is not null and m.role in ('user', 'assistant') and {said_at} > 0
        order by m.pos desc, m.run_number desc, m.idx desc limit 1
    )
)
where s.tenant_id = :tenant and s.user_id = :user_id and s.id in (select value from json_each(:session_ids));

-- name: find_messages
select {message_columns}
from agent_session_messages m
where m.session_id = :session_id and m.id in (select value from json_each(:ids))
    and exists (
        select 1 from agent_sessions s where s.id = :session_id and s.tenant_id = :tenant and s.user_id = :user_id
    )
order by m.run_number, m.idx;

-- name: find_credentials
-- API keys and browsers' sessions by their ids.
{key_principal} and k.id in (select value from json_each(:ids))
union all
{browser_principal} and s.id in (select value from json_each(:ids));

-- name: lock_maker
-- A key that makes a key.
select id from api_keys where id = :id and tenant_id = :tenant and revoked_at is null;

-- name: lock_tenant
-- The one writer is the lock: nothing to ask.

-- name: lock_session
-- A session and its agent, for accepting. The one writer is the lock.
select {agent_columns}, s.title, s.on_busy, s.mark, a.deleted_at, {head_columns}
from agent_sessions s join agents a on a.id = s.agent_id {newest_run}
where s.id = :session_id and s.tenant_id = :tenant and s.user_id = :user_id;

-- name: lock_owner
-- The owner of a session. The one writer is the lock.
select tenant_id, user_id from agent_sessions where id = :session_id;

-- name: lock_draft
-- The one writer is the lock.
select id, version from drafts where tenant_id = :tenant and user_id = :user_id and key = :key;

-- name: lock_profile
-- The one writer is the lock.
select profile, version, updated_at from profiles where tenant_id = :tenant and user_id = :user_id;

-- name: lock_run
-- The one writer is the lock.
select run_id from runs where run_id = :run_id;

-- part: next_run
-- A tenant's next run: answers first, then the oldest, of a session without a running run or an open question. A run
-- that must end needs no worker with its agent's code.
select r.run_id
from runs r join agents a on a.id = r.agent_id
where r.status = 'queued' and r.tenant_id = :tenant
    and not exists (
        select 1 from runs o
        where o.tenant_id = r.tenant_id and o.user_id = r.user_id and o.session_id = r.session_id
            and o.status = 'running'
    )
    and not exists (select 1 from interrupts i where i.session_id = r.session_id and i.state = 'open')
    and (
        a.source <> 'code' or a.name in (select value from json_each(:code_agents))
        or r.cancel_requested_at is not null or r.created_at < :queued_before
    )
    and (:must_end = 0 or r.cancel_requested_at is not null or r.created_at < :queued_before)
    and r.log_level <= :log_level
order by r.kind, r.number limit 1

-- name: next_run
{next_run};

-- name: lock_next_run
-- The one writer is the lock.
{next_run};

-- name: live_runs
-- The running runs, for the writer's memory.
select run_id, epoch, last_seq from runs where status = 'running';

-- name: move_last_seq
-- The log of a running run grew by a row.
update runs set last_seq = :last_seq where run_id = :run_id;

-- name: put_log
insert into logs (run_id, first_seq, last_seq, payload, codec, plain_bytes)
values (:run_id, :first_seq, :last_seq, :payload, :codec, :plain_bytes);

-- name: log_sizes
-- The sizes of the logs of a session's runs, unpacked, up to the run that begins at a position.
select l.run_id, cast(sum(coalesce(l.plain_bytes, length(l.payload))) as bigint)
from runs r join logs l on l.run_id = r.run_id
where r.session_id = :session_id and r.first_pos >= 0 and r.first_pos <= :last_pos
group by l.run_id;

-- name: logs_between
-- In any order.
select l.first_seq, l.last_seq, l.payload, l.codec, l.plain_bytes, l.run_id
from runs r join logs l on l.run_id = r.run_id
where {runs_between};

-- name: read_logs
-- The rows that hold events after `after` and up to `upto`.
select first_seq, last_seq, payload, codec, plain_bytes from logs
where run_id = :run_id and last_seq > :after and first_seq <= :upto order by first_seq;

-- name: append_tail
insert into tail (id, frames) values (:id, :frames);

-- name: trim_tail
-- Delete rows that no running run needs.
delete from tail where id < :first;

-- name: read_tail
select id, frames from tail order by id;

-- part: clock
-- The database's time, in milliseconds.
    cast(unixepoch('subsec') * 1000 as integer)

-- part: is_known
-- Whether a job is of one of these kinds; the `+` leaves the choice of the index to the other conditions.
    +kind in (select value from json_each(:kinds))

-- part: skip_locked
-- The one writer is the lock.

-- part: in_places
    p.tenant_id = :tenant and p.place in (select value from json_each(:places))

-- name: count_passages
select count(*) from passages p where {in_places};

-- name: find_words
-- How many passages have each word, as rows without a number; then the passages with the best words. The `+` keeps
-- SQLite from reading all passages of the tenant.
with hits as materialized (
    select w.value as word, f.rowid as number
    from json_each(:words) w join json_each(:places) p
        join passage_words f on f.passage_words match '"' || p.value || w.value || '"'
),
weights as (
    select word, count(*) as n, ln(1 + (max(:total - count(*), 0) + 0.5) / (count(*) + 0.5)) as weight
    from hits group by word
),
best as (
    select number, sum(weight) as score from hits join weights using (word)
    group by number order by score desc, number desc limit :limit
)
select 0, word, n, '' from weights
where exists (select 1 from best b join passages p on p.number = b.number and +p.tenant_id = :tenant)
union all
select p.number, p.item_id, p.at, p.stems from best b join passages p on p.number = b.number and +p.tenant_id = :tenant;

-- name: find_times
-- The newest of a time.
select p.number, p.item_id, p.at, p.stems from passages p
where {in_places} and p.at between :since and :until order by p.at desc, p.number desc limit :limit;

-- name: live_memories
-- Neither superseded nor expired.
select {memory_columns} from agent_long_term_memory m
where m.tenant_id = :tenant and m.id in (select value from json_each(:ids)) and {is_alive};

-- part: no_bytes
    x''

-- name: passages_of_items
-- In the order of FoundText's fields.
select p.item_id, p.at, p.text from passages p
where p.tenant_id = :tenant and p.kind = :kind and p.item_id in (select value from json_each(:ids));

-- name: find_vectors
-- The nearest in meaning; vectors of other models and sizes are not compared.
select p.number, p.item_id, p.at, p.stems from passages p join embeddings e on e.number = p.number
where {in_places} and p.embedding = :model and e.size = :size
order by case when e.size = :size then vec_distance_cosine(e.vector, vec_f32(:vector)) end, p.number desc limit :limit;

-- name: put_vector
-- Unless its passage was deleted.
insert into embeddings (number, model, size, vector)
select p.number, :model, :size, vec_f32(:vector) from passages p where p.number = :number
on conflict (number) do update set model = excluded.model, size = excluded.size, vector = excluded.vector;

-- part: among
-- One of these ids.
    in (select value from json_each(:ids))
