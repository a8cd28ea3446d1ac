-- Who may describe an agent of their own for a session: a team decides.

alter table tenants add column sdk_sessions text collate "C" not null default 'build';   -- the permission it needs: build, use
