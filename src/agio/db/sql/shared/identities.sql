-- Who people are at OpenID providers.

-- name: list_identities
-- In the order of Identity's fields.
select issuer, subject, created_at from identities
where account_id = :account_id and unlinked_at is null order by issuer, subject;

-- name: remove_identities
-- They are remembered: who was removed from a team does not come back as somebody new.
update identities set unlinked_at = :now where account_id = :account_id and issuer = :issuer and unlinked_at is null
returning subject;

-- name: lock_account
-- Nobody else changes how this person signs in until the transaction is over.
update accounts set updated_at = updated_at where id = :account_id returning password_hash;
