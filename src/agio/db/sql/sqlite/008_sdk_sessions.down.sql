alter table tenants drop column sdk_sessions;
