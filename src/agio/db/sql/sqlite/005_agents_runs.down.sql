drop index runs_ended_badly;
drop index runs_of_tenant;
drop index runs_of_user;
create index runs_of_user on runs (tenant_id, user_id, number, agent_id);

alter table agents drop column limits;
alter table agents drop column output_schema;
alter table runs drop column cost;
alter table runs drop column output_tokens;
alter table runs drop column input_tokens;
alter table runs drop column steps;
