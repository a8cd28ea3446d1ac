-- Profiles of users.

-- name: get_profile
select profile, version, updated_at from profiles where tenant_id = :tenant and user_id = :user_id;

-- name: add_profile
insert into profiles (tenant_id, user_id, profile, version, updated_at)
values (:tenant, :user_id, :profile, 0, :now) on conflict do nothing;

-- name: change_profile
update profiles set profile = :profile, version = :version, updated_at = :now
where tenant_id = :tenant and user_id = :user_id;
