alter table sign_in_links drop column made_by;
alter table tenants drop column sdk_sessions;
