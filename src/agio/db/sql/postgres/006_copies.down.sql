alter table runs drop column copied_from;
