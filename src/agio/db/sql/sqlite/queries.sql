-- Every query of the SQLite store. A run's columns are in the order of RunInfo's fields.

-- name: count_tables
-- None: the file is new.
select count(*) from sqlite_schema where type = 'table';

-- name: has_migrations
select count(*) from sqlite_schema where type = 'table' and name = 'schema_migrations';

-- name: create_migrations
create table if not exists schema_migrations (
    version integer primary key,
    name text not null,
    applied_at integer not null
) strict;

-- name: schema_version
select coalesce(max(version), 0) from schema_migrations;

-- name: add_migration
insert into schema_migrations (version, name, applied_at) values (?, ?, ?);

-- name: remove_migration
delete from schema_migrations where version = ?;

-- name: create_run
insert into runs (
    run_id, thread_id, agent, model, status, epoch, last_seq, created_at, mark, tenant, user, first_pos, title
) values (
    :run_id, :thread_id, :agent, :model, :status, :epoch, :last_seq, :created_at, :mark, :tenant, :user, :first_pos, :title
);

-- name: newest_run_of_thread
select run_id, first_pos, last_seq from runs where thread_id = ? order by id desc limit 1;

-- name: claim_run
update runs set epoch = ? where run_id = ?;

-- name: end_run
update runs set status = ?, error_code = ?, ended_at = ?, last_seq = ? where run_id = ?;

-- name: move_last_seq
-- The log of a running run grew by a row.
update runs set last_seq = ? where run_id = ?;

-- name: get_run
select run_id, thread_id, agent, model, status, epoch, last_seq, created_at, ended_at, mark, tenant, user,
    first_pos, error_code, title
from runs where run_id = ?;

-- name: list_runs
select run_id, thread_id, agent, model, status, epoch, last_seq, created_at, ended_at, mark, tenant, user,
    first_pos, error_code, title
from runs where id < ? order by id desc limit ?;

-- name: list_runs_of_thread
select run_id, thread_id, agent, model, status, epoch, last_seq, created_at, ended_at, mark, tenant, user,
    first_pos, error_code, title
from runs where thread_id = ? and id < ? order by id desc limit ?;

-- name: list_runs_of_agent
select run_id, thread_id, agent, model, status, epoch, last_seq, created_at, ended_at, mark, tenant, user,
    first_pos, error_code, title
from runs where agent = ? and id < ? order by id desc limit ?;

-- name: list_runs_of_thread_and_agent
-- A thread is short: its runs are read and those of other agents left out.
select run_id, thread_id, agent, model, status, epoch, last_seq, created_at, ended_at, mark, tenant, user,
    first_pos, error_code, title
from runs where thread_id = ? and +agent = ? and id < ? order by id desc limit ?;

-- name: place_of_run
-- Where a run stands in the order of creation.
select id from runs where run_id = ?;

-- name: running_runs
select run_id, epoch, last_seq from runs where status = 'running' order by id;

-- name: append_log
insert into logs (run_id, first_seq, last_seq, payload) values (?, ?, ?, ?);

-- name: read_logs
-- The rows that hold events after the second parameter and up to the third. `first_seq` never exceeds `last_seq`.
select first_seq, payload from logs
where run_id = ? and last_seq > ? and first_seq <= ? order by first_seq;

-- name: append_tail
insert into tail (id, frames) values (?, ?);

-- name: trim_tail
-- Drop what no running run needs.
delete from tail where id < ?;

-- name: read_tail
select id, frames from tail order by id;

-- name: put_turn
insert into turns (run_id, seq, step, record) values (?, ?, ?, ?)
on conflict do update set record = excluded.record;

-- name: read_turns
select record from turns where run_id = ? and seq > ? and seq <= ? order by seq, step;

-- name: get_tool
select content, error from tool_calls where run_id = ? and key = ?;

-- name: begin_tool
insert into tool_calls (run_id, key, state) values (?, ?, 'started') on conflict do nothing;

-- name: end_tool
-- The first result stays.
insert into tool_calls (run_id, key, state, content, error) values (?, ?, 'finished', ?, ?)
on conflict do update set state = 'finished', content = excluded.content, error = excluded.error
where state = 'started';
