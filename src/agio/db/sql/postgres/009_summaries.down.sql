alter table runs drop column needed;
