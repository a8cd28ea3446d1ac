delete from agent_tool_assignments where tool_id in (select id from agent_tools where kind = 'mcp');
delete from agent_tools where kind = 'mcp';
delete from secrets where owner_id in (select id from mcp_servers);
drop table mcp_tools;
drop table mcp_servers;
