-- Agents that hand over to others.
alter table agents add column handoffs bytea;               -- JSON; null: none
alter table runs add column active_agent text not null default ''; -- the agent it was handed to last; '': the session's
