alter table runs drop column active_agent;
alter table agents drop column handoffs;
