-- The queries of the Postgres store that differ from `shared`.

-- name: server_version
select current_setting('server_version_num')::integer;

-- name: server_time
select (extract(epoch from clock_timestamp()) * 1000)::bigint;

-- name: has_migrations
-- Null: the table does not exist. False: it is another program's.
select case when found.id is not null then exists (
    select from pg_attribute where attrelid = found.id and attname = 'applied_at' and not attisdropped
) end
from (select to_regclass('schema_migrations') as id) as found;

-- name: create_migrations
create table if not exists schema_migrations (
    version bigint primary key,
    name text not null,
    applied_at bigint not null
);

-- name: applied_migrations
select version, name from schema_migrations order by version;

-- name: add_migration
insert into schema_migrations (version, name, applied_at)
values (:version, :name, (extract(epoch from clock_timestamp()) * 1000)::bigint);

-- name: remove_migration
delete from schema_migrations where version = :version;

-- name: append_frames
-- One row a run: the frames are stored if the run is running under their epoch and they are its next ones.
with given as (
    select * from unnest(
        :run_ids::text[], :epochs::bigint[], :first_seqs::bigint[], :last_seqs::bigint[], :payloads::bytea[]
    ) as given (run_id, epoch, first_seq, last_seq, payload)
), taken as (
    update runs set last_seq = given.last_seq from given
    where runs.run_id = given.run_id
        and runs.status = 'running'
        and runs.epoch = given.epoch
        and runs.last_seq = given.first_seq - 1
    returning runs.run_id
), stored as (
    insert into frames (run_id, epoch, first_seq, last_seq, payload)
    select given.* from given join taken on taken.run_id = given.run_id where given.last_seq >= given.first_seq
)
select run_id from taken;

-- name: store_frame
-- A run's first frame, or a frame that was found to be the next one of a locked run.
with stored as (
    insert into frames (run_id, epoch, first_seq, last_seq, payload)
    values (:run_id, :epoch, :first_seq, :last_seq, :payload)
)
update runs set last_seq = :last_seq where run_id = :run_id;

-- name: log_sizes
-- The sizes of the logs of a session's runs, unpacked, up to the run that begins at a position.
select l.run_id, cast(sum(coalesce(l.plain_bytes, length(l.payload))) as bigint)
from runs r join frames l on l.run_id = r.run_id
where r.session_id = :session_id and r.first_pos >= 0 and r.first_pos <= :last_pos
group by l.run_id;

-- name: logs_between
-- In any order.
select l.first_seq, l.last_seq, l.payload, l.codec, l.plain_bytes, l.run_id
from runs r join frames l on l.run_id = r.run_id
where {runs_between};

-- name: take_frames
-- The frames of ended runs, to be packed. The runs are locked first, as by their deletion.
with ended as (
    select run_id from runs where run_id = any(:run_ids::text[]) and status <> 'running' order by run_id for key share
)
delete from frames f using ended where f.run_id = ended.run_id and f.codec is null
returning f.first_seq, f.last_seq, f.payload, f.codec, f.plain_bytes, f.run_id;

-- name: put_log
-- Events of an ended run.
insert into frames (run_id, epoch, first_seq, last_seq, payload, codec, plain_bytes)
select run_id, epoch, :first_seq, :last_seq, :payload, :codec, :plain_bytes from runs where run_id = :run_id;

-- name: read_frames
-- A run's frames that hold events after `after` and up to `upto`.
select first_seq, last_seq, payload, codec, plain_bytes from frames
where run_id = :run_id and last_seq > :after and first_seq <= :upto order by last_seq limit :limit;

-- name: lock_draft
select id, version from drafts where tenant_id = :tenant and user_id = :user_id and key = :key for no key update;

-- name: lock_profile
select profile, version, updated_at from profiles where tenant_id = :tenant and user_id = :user_id for no key update;

-- name: lock_run
select {run_columns} from runs where run_id = :run_id for no key update;

-- name: lock_sessions_of_runs
-- In one order, to avoid deadlocks.
select id from agent_sessions
where id in (select session_id from runs where run_id = any(:run_ids::text[])) order by id for no key update;

-- name: tools_of_agents
select x.agent_id, t.name, x.approval, t.id, t.kind, t.definition, t.updated_at
from agent_tool_assignments x join agent_tools t on t.id = x.tool_id
where x.agent_id = any(:agent_ids::text[]) and t.tenant_id = :tenant
order by x.agent_id, x.idx;

-- name: names_of_users
-- Also of removed members.
select id, name from users where tenant_id = :tenant and id = any(:user_ids::text[]);

-- name: questions_of_runs
-- The states of runs' questions.
select i.run_id, i.state from interrupts i join runs r on r.run_id = i.run_id
where r.tenant_id = :tenant and i.run_id = any(:run_ids::text[]);

-- part: said
-- The text of message `m`. A text cannot hold NUL, so `\u0000` is replaced; after another backslash it is literal text.
    (
        select
            case jsonb_typeof(content)
                when 'string' then content #>> '{}'
                when 'array' then (
                    select string_agg(part ->> 'text', e'\n') from jsonb_array_elements(content) part
                )
            end
        from (
            select (
                case
                    when strpos(written, '\u0000') = 0 then written
                    else regexp_replace(written, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g')
                end
            )::jsonb -> 'content' as content
            from (select convert_from(m.message, 'UTF8') as written) kept
        ) parsed
    )

-- part: said_at
-- The position of the search text in it; 0: none.
    strpos(replace(lower(replace({said}, 'İ', 'i')), 'ς', 'σ'), :needle)

-- part: is_found
-- Whether the title or a message of session `s` has the search text.
    cast(:needle as text) is null
    or strpos(replace(lower(replace(s.title, 'İ', 'i')), 'ς', 'σ'), :needle) > 0
    or exists (
        select 1 from agent_session_messages m
        where m.session_id = s.id and m.role in ('user', 'assistant') and {said_at} > 0
    )

-- name: find_places
-- The newest matching message of each session, queued runs first: position, length of its text, text around.
select s.id, f.id, f.run_id, f.place, length(f.said) as chars,
    substr(f.said, greatest(f.place - :around::int, 1), :span::int) as words
from agent_sessions s cross join lateral (
    select m.id, m.run_id, {said} as said, {said_at} as place
    from agent_session_messages m
    where m.session_id = s.id and m.role in ('user', 'assistant') and {said_at} > 0
    order by m.pos desc nulls first, m.run_number desc, m.idx desc limit 1
) f
where s.tenant_id = :tenant and s.user_id = :user_id and s.id = any(:session_ids::text[]);

-- name: find_messages
select {message_columns}
from agent_session_messages m
where m.session_id = :session_id and m.id = any(:ids::text[])
    and exists (
        select 1 from agent_sessions s where s.id = :session_id and s.tenant_id = :tenant and s.user_id = :user_id
    )
order by m.run_number, m.idx;

-- Locks are taken in one order: tenant, session, run. A transaction that adds to a tenant's queue or takes from it
-- locks the tenant first, so that it counts all that was committed before and the limits hold.

-- name: find_credentials
-- API keys and browsers' sessions by their ids.
{key_principal} and k.id = any(:ids::text[])
union all
{browser_principal} and s.id = any(:ids::text[]);

-- name: lock_maker
-- A key that makes a key cannot be revoked at the same time.
select id from api_keys where id = :id and tenant_id = :tenant and revoked_at is null for no key update;

-- name: lock_tenant
select id from tenants where id = :tenant for no key update;

-- name: lock_session
-- A session and its agent, for accepting.
select {agent_columns}, s.title, s.on_busy, s.mark, a.deleted_at, {head_columns}
from agent_sessions s join agents a on a.id = s.agent_id join tenants t on t.id = s.tenant_id {newest_run}
where s.id = :session_id and s.tenant_id = :tenant and s.user_id = :user_id
for no key update of t, s;

-- name: lock_owner
-- The owner of a session.
select tenant_id, user_id from agent_sessions where id = :session_id for no key update;

-- part: next_run
-- A tenant's next run: answers first, then the oldest, of a session without a running run or an open question. A run
-- that must end needs no worker with its agent's code.
select r.run_id
from runs r join agents a on a.id = r.agent_id join agent_sessions s on s.id = r.session_id
where r.status = 'queued' and r.tenant_id = :tenant
    and not exists (
        select 1 from runs o
        where o.tenant_id = r.tenant_id and o.user_id = r.user_id and o.session_id = r.session_id
            and o.status = 'running'
    )
    and not exists (select 1 from interrupts i where i.session_id = r.session_id and i.state = 'open')
    and (
        a.source <> 'code' or a.name = any(:code_agents::text[])
        or r.cancel_requested_at is not null or r.created_at < :queued_before
    )
    and (:must_end::int = 0 or r.cancel_requested_at is not null or r.created_at < :queued_before)
    and r.log_level <= :log_level
order by r.kind, r.number limit 1

-- name: next_run
{next_run};

-- name: lock_next_run
-- Skips rows that another transaction is changing.
{next_run}
for no key update of s, r skip locked;

-- part: clock
-- The database's time, in milliseconds.
    (extract(epoch from statement_timestamp()) * 1000)::bigint

-- part: is_known
-- Whether a job is of one of these kinds.
    (kind = any(:kinds::text[]))

-- part: skip_locked
    for update skip locked

-- part: in_places
    p.tenant_id = :tenant and p.place = any(:places::text[])

-- name: count_passages
select count(*) from passages p where {in_places};

-- name: find_words
-- How many passages have each word, as rows without a number; then the passages with the best words.
with hits as materialized (
    select w.word, p.number
    from unnest(:words::text[]) as w (word) cross join unnest(:places::text[]) as o (place) cross join lateral (
        select number from passages
        where array_to_tsvector(string_to_array(place || replace(stems, ' ', ' ' || place), ' '))
            @@ ('''' || o.place || w.word || '''')::tsquery
        offset 0
    ) p
),
weights as (
    select word, count(*) as n,
        ln(1 + (greatest(:total::bigint - count(*), 0) + 0.5) / (count(*) + 0.5)) as weight
    from hits group by word
),
best as (
    select number, sum(weight) as score from hits join weights using (word)
    group by number order by score desc, number desc limit :limit
)
select 0::bigint, word, n, '' from weights
where exists (select 1 from best b join passages p on p.number = b.number and p.tenant_id = :tenant)
union all
select p.number, p.item_id, p.at, p.stems from best b join passages p on p.number = b.number and p.tenant_id = :tenant;

-- name: find_times
-- The newest of a time.
select p.number, p.item_id, p.at, p.stems from passages p
where {in_places} and p.at between :since and :until order by p.at desc, p.number desc limit :limit;

-- name: live_memories
-- Neither superseded nor expired.
select {memory_columns} from agent_long_term_memory m
where m.tenant_id = :tenant and m.id = any(:ids::text[]) and {is_alive};

-- part: no_bytes
    ''::bytea

-- name: passages_of_items
-- In the order of FoundText's fields.
select p.item_id, p.at, p.text from passages p
where p.tenant_id = :tenant and p.kind = :kind and p.item_id = any(:ids::text[]);

-- name: find_vectors
-- The nearest in meaning; vectors of other models and sizes are not compared.
-- `offset 0`: each vector is looked up, of its size only, before it is compared.
select p.number, p.item_id, p.at, p.stems
from passages p cross join lateral (
    select vector from embeddings where number = p.number and size = :size offset 0
) e
where {in_places} and p.embedding = :model
order by vector_distance(e.vector, :vector::real[]), p.number desc limit :limit;

-- name: put_vector
-- Unless its passage was deleted.
insert into embeddings (number, model, size, vector)
select p.number, :model, :size, :vector::real[] from passages p where p.number = :number
on conflict (number) do update set model = excluded.model, size = excluded.size, vector = excluded.vector;

-- part: among
-- One of these ids.
    = any(:ids::text[])
