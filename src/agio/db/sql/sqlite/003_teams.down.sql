drop table audit_log;
drop table tool_requests;
drop table file_chunks;
drop table files;
drop table draft_versions;
drop table drafts;
drop table profiles;
drop table providers;
drop table secrets;
drop table worker_keys;
drop table invitations;
drop table sign_in_flows;
drop table sign_in_links;
drop table identities;
drop table memberships;
drop table accounts;

update agents set deleted_at = updated_at where source = 'inline' and deleted_at is null;
drop index agents_by_name;
create unique index agents_by_name on agents (tenant_id, name) where deleted_at is null;

alter table agent_tools drop column updated_at;
alter table agent_tools drop column definition;
alter table agent_tools drop column kind;
alter table runs drop column request_id;
alter table web_sessions drop column authenticated_at;
alter table api_keys drop column expires_at;
alter table api_keys drop column permissions;
alter table users drop column removed_at;
