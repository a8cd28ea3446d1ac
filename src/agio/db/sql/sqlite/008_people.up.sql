-- What a team lets its members do, and links that its owners make for them.

alter table tenants add column sdk_sessions text not null default 'build';   -- the permission that describing an agent for a session needs: build, use
alter table sign_in_links add column made_by text;   -- the owner who made it for a member; null: the operator
