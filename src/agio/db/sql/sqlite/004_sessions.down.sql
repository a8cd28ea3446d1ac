delete from agent_sessions where id in (select session_id from forks);
drop table forks;
alter table agent_sessions drop column forked_from;
alter table agent_sessions drop column seen_pos;
