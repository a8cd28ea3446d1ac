drop table tool_calls;
drop table turns;
drop table tail;
drop table logs;
drop table runs;
