-- Model providers of tenants, and sealed secrets of providers and tools.

-- part: provider_columns
-- In the order of ProviderRecord's fields.
    p.name, p.kind, p.base_url, p.models, p.id, p.tenant_id,
    exists (
        select 1 from secrets s where s.tenant_id = p.tenant_id and s.owner_id = p.id and s.field = 'api_key'
    ),
    p.created_at, p.updated_at

-- name: list_providers
select {provider_columns} from providers p where p.tenant_id = :tenant order by p.name;

-- name: get_provider
select {provider_columns} from providers p where p.id = :provider_id and p.tenant_id = :tenant;

-- name: find_provider
-- With its sealed key, if it has one.
select {provider_columns}, k.key_id, k.sealed
from providers p
left join secrets k on k.tenant_id = p.tenant_id and k.owner_id = p.id and k.field = 'api_key'
where p.tenant_id = :tenant and p.name = :name;

-- name: add_provider
insert into providers (id, tenant_id, name, kind, base_url, models, created_at, updated_at)
values (:provider_id, :tenant, :name, :kind, :base_url, :models, :now, :now)
on conflict do nothing returning id;

-- name: update_provider
update providers set name = :name, kind = :kind, base_url = :base_url, models = :models, {next_version}
where id = :provider_id and tenant_id = :tenant and {as_expected} returning id;

-- name: delete_provider
delete from providers where id = :provider_id and tenant_id = :tenant returning id;

-- name: get_secret
select key_id, sealed from secrets where tenant_id = :tenant and owner_id = :owner_id and field = :field;

-- name: secrets_of
select field, key_id, sealed from secrets where tenant_id = :tenant and owner_id = :owner_id order by field;

-- name: put_secret
insert into secrets (tenant_id, owner_id, field, key_id, sealed, updated_at)
values (:tenant, :owner_id, :field, :key_id, :sealed, :now)
on conflict (tenant_id, owner_id, field)
do update set key_id = excluded.key_id, sealed = excluded.sealed, updated_at = excluded.updated_at;

-- name: delete_secret
delete from secrets where tenant_id = :tenant and owner_id = :owner_id and field = :field;

-- name: delete_secrets_of
delete from secrets where tenant_id = :tenant and owner_id = :owner_id;

-- name: replace_secret
-- Only if it has not changed since it was read.
update secrets set key_id = :key_id, sealed = :sealed, updated_at = :now
where tenant_id = :tenant and owner_id = :owner_id and field = :field
    and key_id = :old_key_id and sealed = :old_sealed
returning field;

-- name: secrets_to_rotate
-- Of every tenant, those that another master key sealed.
select tenant_id, owner_id, field, key_id, sealed from secrets
where (tenant_id, owner_id, field) > (:after_tenant, :after_owner, :after_field) and key_id <> :key_id
order by tenant_id, owner_id, field limit :limit;

-- name: count_secrets
-- Of every tenant, by the master key that sealed them.
select key_id, count(*) from secrets group by key_id order by key_id;
