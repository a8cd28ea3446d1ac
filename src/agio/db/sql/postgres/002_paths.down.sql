drop table definitions;

alter table agent_sessions add column pending text not null default '[]';

update agent_sessions set pending = coalesce((
    select r.pending from runs r where r.session_id = agent_sessions.id and r.first_pos is not null
    order by r.first_pos desc, r.number desc limit 1
), '[]');

alter table agent_sessions drop column leaf_run_id;
alter table runs drop column log_level;
alter table runs drop column definition;
alter table runs drop column pending;
alter table runs drop column branched;
alter table runs drop column parent_seq;
alter table runs drop column parent_run_id;
