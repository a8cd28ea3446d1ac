-- Tenants, users, API keys and browsers' sessions.

-- name: add_tenant
insert into tenants (id, name, created_at) values (:tenant, :name, :now) on conflict do nothing;

-- name: get_tenant
-- In the order of TenantRecord's fields.
select id, name, retention_days, sdk_sessions, traces from tenants where id = :tenant;

-- name: set_retention
update tenants set retention_days = :days where id = :tenant;

-- name: set_traces
update tenants set traces = :traces where id = :tenant;

-- name: set_sdk_sessions
update tenants set sdk_sessions = :needs where id = :tenant;

-- name: add_user
insert into users (tenant_id, id, name, role, created_at) values (:tenant, :user_id, :name, :role, :now)
on conflict do nothing;

-- name: get_user
select name, role from users where tenant_id = :tenant and id = :user_id and removed_at is null;

-- name: any_api_key
select id from api_keys limit 1;

-- name: add_api_key
insert into api_keys (id, tenant_id, user_id, name, prefix, hash, created_at, permissions, expires_at, made_by)
values (:id, :tenant, :user_id, :name, :prefix, :hash, :created_at, :permissions, :expires_at, :made_by)
on conflict do nothing returning id;

-- part: api_key_columns
-- In the order of ApiKey's fields.
id, tenant_id, user_id, name, prefix, created_at, last_used_at, revoked_at, permissions, expires_at, made_by

-- name: list_api_keys
select {api_key_columns}
from api_keys where tenant_id = :tenant and user_id = :user_id order by created_at desc, id desc;

-- name: list_tenant_api_keys
select {api_key_columns} from api_keys where tenant_id = :tenant order by created_at desc, id desc;

-- name: revoke_api_key
update api_keys set revoked_at = coalesce(revoked_at, :now)
where id = :id and tenant_id = :tenant and user_id = :user_id returning id;

-- name: revoke_made_keys
-- The keys of the tenant that a key made, recursively.
with recursive made (id) as (
    select id from api_keys where id = :id and tenant_id = :tenant
    union
    select k.id from made m join api_keys k on k.made_by = m.id where k.tenant_id = :tenant
)
update api_keys set revoked_at = :now
where id in (select id from made) and revoked_at is null returning id;

-- part: key_principal
-- The principal of a valid API key.
select u.tenant_id, u.id, u.role, k.id, k.permissions, m.account_id, cast(null as bigint) as authenticated_at,
    k.last_used_at
from api_keys k join users u on u.tenant_id = k.tenant_id and u.id = k.user_id
    left join memberships m on m.tenant_id = u.tenant_id and m.user_id = u.id
where k.revoked_at is null and (k.expires_at is null or k.expires_at > :now) and u.removed_at is null

-- part: browser_principal
-- The principal of a browser's session that has not expired.
select u.tenant_id, u.id, u.role, s.id, cast(null as text) as permissions, m.account_id, s.authenticated_at,
    cast(null as bigint) as last_used_at
from web_sessions s join users u on u.tenant_id = s.tenant_id and u.id = s.user_id
    left join memberships m on m.tenant_id = u.tenant_id and m.user_id = u.id
where s.expires_at > :now and u.removed_at is null

-- name: find_api_key
{key_principal} and k.hash = :hash;

-- name: note_api_key
update api_keys set last_used_at = :now where hash = :hash;

-- name: add_web_session
insert into web_sessions (id, tenant_id, user_id, token_hash, created_at, authenticated_at, expires_at)
values (:id, :tenant, :user_id, :token_hash, :now, :authenticated_at, :expires_at);

-- name: find_web_session
{browser_principal} and s.token_hash = :token_hash;

-- name: end_web_session
delete from web_sessions where token_hash = :token_hash returning authenticated_at, expires_at;

-- name: refresh_web_session
update web_sessions set authenticated_at = :now where token_hash = :token_hash;

-- name: end_web_sessions
delete from web_sessions
where (tenant_id, user_id) in (select tenant_id, user_id from memberships where account_id = :account_id)
    and id <> :but
returning id;

-- name: end_user_sessions
delete from web_sessions where tenant_id = :tenant and user_id = :user_id returning id;

-- name: sweep_web_sessions
delete from web_sessions where expires_at <= :now;

-- name: sweep_keys
delete from idempotency_keys where created_at <= :until;

-- name: touch_store
-- A write that changes nothing, as a check.
update tenants set name = name where id = :tenant;
