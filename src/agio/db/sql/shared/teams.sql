-- Teams: members and invitations.

-- name: rename_tenant
-- In the order of TenantRecord's fields.
update tenants set name = :name where id = :tenant returning id, name, retention_days, sdk_sessions, traces;

-- part: members
-- In the order of Member's fields.
select u.id, u.name, u.role, a.email, u.created_at
from users u
    left join memberships m on m.tenant_id = u.tenant_id and m.user_id = u.id
    left join accounts a on a.id = m.account_id
where u.tenant_id = :tenant and u.removed_at is null

-- name: list_members
{members} order by u.name, u.id;

-- name: get_member
{members} and u.id = :user_id;

-- name: other_owner
select id from users where tenant_id = :tenant and role = 'owner' and removed_at is null and id <> :but limit 1;

-- name: set_role
update users set role = :role where tenant_id = :tenant and id = :user_id;

-- name: remove_user
update users set removed_at = :now where tenant_id = :tenant and id = :user_id;

-- name: reinstate_user
update users set removed_at = null, role = :role, name = :name where tenant_id = :tenant and id = :user_id;

-- name: revoke_user_keys
update api_keys set revoked_at = :now where tenant_id = :tenant and user_id = :user_id and revoked_at is null;

-- name: add_invitation
insert into invitations (id, tenant_id, email, role, token_hash, invited_by, created_at, expires_at)
values (:id, :tenant, :email, :role, :token_hash, :invited_by, :created_at, :expires_at);

-- part: invitation_columns
-- In the order of Invitation's fields.
id, tenant_id, email, role, invited_by, created_at, expires_at, closed_at, accepted_by

-- name: list_invitations
select {invitation_columns} from invitations where tenant_id = :tenant order by created_at desc, id desc;

-- name: find_invitation
select {invitation_columns} from invitations
where token_hash = :token_hash and closed_at is null and expires_at > :now;

-- name: take_invitation
update invitations set closed_at = :now, accepted_by = :user_id
where token_hash = :token_hash and closed_at is null and expires_at > :now returning id;

-- name: revoke_invitation
update invitations set closed_at = :now where id = :id and tenant_id = :tenant and closed_at is null returning id;

-- name: revoke_user_invitations
-- The invitations that a user has made.
update invitations set closed_at = :now where tenant_id = :tenant and invited_by = :user_id and closed_at is null;
