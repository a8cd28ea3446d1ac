delete from secrets where owner_id in (select id from mcp_connections);
delete from secrets where owner_id in (select id || '/clients' from mcp_servers);
drop table mcp_connections;
