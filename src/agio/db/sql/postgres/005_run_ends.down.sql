alter table runs drop column usage_partial;
alter table runs drop column error_message;
