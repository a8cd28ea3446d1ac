-- Keys of workers. They belong to the operator; each row lists the tenants whose runs it may take.

-- name: add_worker_key
insert into worker_keys (id, name, prefix, hash, tenants, created_at)
values (:id, :name, :prefix, :hash, :tenants, :created_at);

-- name: list_worker_keys
-- In the order of WorkerKey's fields. Ids grow with time.
select id, name, prefix, tenants, created_at, last_used_at, revoked_at
from worker_keys order by id desc;

-- name: revoke_worker_key
update worker_keys set revoked_at = coalesce(revoked_at, :now) where id = :id returning id;

-- name: find_worker_key
-- In the order of WorkerKey's fields.
select id, name, prefix, tenants, created_at, last_used_at, revoked_at
from worker_keys where hash = :hash and revoked_at is null;

-- name: note_worker_key
update worker_keys set last_used_at = :now where hash = :hash;
