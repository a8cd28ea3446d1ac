-- Tenants, users, and what stands for them: API keys and browsers that are signed in.

-- name: add_tenant
insert into tenants (id, name, created_at) values (:tenant, :name, :now) on conflict do nothing;

-- name: get_tenant
-- In the order of TenantRecord's fields.
select id, name, retention_days from tenants where id = :tenant;

-- name: set_retention
update tenants set retention_days = :days where id = :tenant;

-- name: add_user
insert into users (tenant_id, id, name, role, created_at) values (:tenant, :user_id, :name, :role, :now)
on conflict do nothing;

-- name: get_user
select name, role from users where tenant_id = :tenant and id = :user_id;

-- name: any_api_key
select id from api_keys limit 1;

-- name: add_api_key
insert into api_keys (id, tenant_id, user_id, name, prefix, hash, created_at, permissions, expires_at)
values (:id, :tenant, :user_id, :name, :prefix, :hash, :created_at, :permissions, :expires_at)
on conflict do nothing returning id;

-- name: list_api_keys
-- In the order of ApiKey's fields.
select id, tenant_id, user_id, name, prefix, created_at, last_used_at, revoked_at, permissions, expires_at
from api_keys where tenant_id = :tenant and user_id = :user_id order by created_at desc, id desc;

-- name: revoke_api_key
update api_keys set revoked_at = coalesce(revoked_at, :now)
where id = :id and tenant_id = :tenant and user_id = :user_id returning id;

-- name: find_api_key
select users.tenant_id, users.id, users.role, api_keys.id, api_keys.last_used_at
from api_keys join users on users.tenant_id = api_keys.tenant_id and users.id = api_keys.user_id
where api_keys.hash = :hash and api_keys.revoked_at is null;

-- name: note_api_key
-- That a key was used.
update api_keys set last_used_at = :now where hash = :hash;

-- name: add_web_session
insert into web_sessions (id, tenant_id, user_id, token_hash, created_at, authenticated_at, expires_at)
values (:id, :tenant, :user_id, :token_hash, :now, :authenticated_at, :expires_at);

-- name: find_web_session
select users.tenant_id, users.id, users.role, web_sessions.id
from web_sessions join users on users.tenant_id = web_sessions.tenant_id and users.id = web_sessions.user_id
where web_sessions.token_hash = :token_hash and web_sessions.expires_at > :now;

-- name: end_web_session
delete from web_sessions where token_hash = :token_hash;

-- name: sweep_web_sessions
delete from web_sessions where expires_at <= :now;

-- name: sweep_keys
delete from idempotency_keys where created_at <= :until;

-- name: touch_store
-- Writes without changing anything: to see that it can be done.
update tenants set name = name where id = :tenant;
