alter table tool_executions drop column lease_until;
alter table tool_executions drop column owner;
alter table runs drop column gateway;
drop table attempts;
drop table cluster;
drop table gateways;
