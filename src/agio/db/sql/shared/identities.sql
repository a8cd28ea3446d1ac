-- Identities of accounts at OpenID providers.

-- name: list_identities
-- In the order of Identity's fields.
select issuer, subject, created_at from identities
where account_id = :account_id and unlinked_at is null order by issuer, subject;

-- name: remove_identities
-- Keeps the rows, so that a removed member cannot come back with a new account.
update identities set unlinked_at = :now where account_id = :account_id and issuer = :issuer and unlinked_at is null
returning subject;

-- name: lock_account
-- Locks the account's ways to sign in until the end of the transaction.
update accounts set updated_at = updated_at where id = :account_id returning password_hash;
