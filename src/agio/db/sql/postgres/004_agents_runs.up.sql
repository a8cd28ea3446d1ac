-- What a run used, and what an agent says of its answers and limits.

alter table runs add column steps bigint;            -- null while it runs, and for what ended before this was kept
alter table runs add column input_tokens bigint;
alter table runs add column output_tokens bigint;
alter table runs add column cost double precision;                -- null without a price
alter table agents add column output_schema bytea;     -- JSON; null: the answer is text
alter table agents add column limits bytea;            -- JSON of what it says; null: the server's

-- Newest first by the time they came, so that a list can begin and end at a time.
drop index runs_of_user;
create index runs_of_user on runs (tenant_id, user_id, created_at, number, agent_id);
create index runs_of_tenant on runs (tenant_id, created_at, number, agent_id);
-- The few that ended otherwise than well: only their end writes it.
create index runs_ended_badly on runs (tenant_id, status, created_at, number, user_id, agent_id)
where status in ('failed', 'cancelled', 'interrupted', 'expired');
