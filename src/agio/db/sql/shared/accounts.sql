-- Accounts of people, their memberships, and how they sign in.

-- part: account_columns
-- In the order of Account's fields.
a.id, a.email, a.name, a.password_hash

-- name: any_account
select id from accounts order by id limit 1;

-- name: add_account
insert into accounts (id, email, name, password_hash, created_at, updated_at)
values (:account_id, :email, :name, :password_hash, :now, :now)
on conflict do nothing returning id;

-- name: get_account
select {account_columns} from accounts a where a.id = :account_id;

-- name: find_account
select {account_columns} from accounts a where a.email = :email;

-- name: change_account
update accounts set name = :name, email = :email, updated_at = :now where id = :account_id
returning id, email, name, password_hash;

-- name: rename_users
-- The account's users, in every team.
update users set name = :name
where (tenant_id, id) in (select tenant_id, user_id from memberships where account_id = :account_id);

-- name: set_password
update accounts set password_hash = :password_hash, updated_at = :now where id = :account_id returning id;

-- name: replace_password
-- Only if the stored hash is still `instead_of`.
update accounts set password_hash = :password_hash, updated_at = :now
where id = :account_id and password_hash = :instead_of;

-- name: find_identity
select {account_columns} from identities i join accounts a on a.id = i.account_id
where i.issuer = :issuer and i.subject = :subject and i.unlinked_at is null;

-- name: add_identity
-- An unlinked identity may be linked again, but only to its own account.
insert into identities (issuer, subject, account_id, created_at) values (:issuer, :subject, :account_id, :now)
on conflict (issuer, subject) do update set unlinked_at = null
where identities.account_id = excluded.account_id returning account_id;

-- name: add_membership
insert into memberships (account_id, tenant_id, user_id, created_at)
values (:account_id, :tenant, :user_id, :now)
on conflict do nothing returning tenant_id;

-- name: account_of_user
select account_id from memberships where tenant_id = :tenant and user_id = :user_id;

-- part: membership_columns
-- In the order of Membership's fields.
t.id, t.name, u.id, u.role

-- name: memberships
select {membership_columns}
from memberships m join users u on u.tenant_id = m.tenant_id and u.id = m.user_id join tenants t on t.id = m.tenant_id
where m.account_id = :account_id and u.removed_at is null
order by t.name, t.id;

-- name: membership_in
-- Also of a removed member, with the time of the removal.
select {membership_columns}, u.removed_at
from memberships m join users u on u.tenant_id = m.tenant_id and u.id = m.user_id join tenants t on t.id = m.tenant_id
where m.account_id = :account_id and m.tenant_id = :tenant;

-- name: add_sign_in_link
insert into sign_in_links (token_hash, tenant_id, user_id, created_at, expires_at, made_by)
values (:token_hash, :tenant, :user_id, :now, :expires_at, :made_by);

-- name: take_sign_in_link
delete from sign_in_links where token_hash = :token_hash returning tenant_id, user_id, expires_at, made_by;

-- name: end_sign_in_links
delete from sign_in_links where tenant_id = :tenant and user_id = :user_id;

-- name: sweep_sign_in_links
delete from sign_in_links where expires_at <= :now;

-- name: add_sign_in_flow
insert into sign_in_flows (state_hash, flow, created_at, expires_at) values (:state_hash, :flow, :now, :expires_at);

-- name: take_sign_in_flow
delete from sign_in_flows where state_hash = :state_hash returning flow, expires_at;

-- name: sweep_sign_in_flows
delete from sign_in_flows where expires_at <= :now;
