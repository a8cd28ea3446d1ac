drop table run_inputs;
alter table tool_executions drop column lane;
