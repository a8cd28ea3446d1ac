alter table files drop column text;
drop table run_passages;
drop table session_passages;
drop table document_passages;
drop table document_chunks;
drop table document_versions;
drop table documents;
drop table collections;
alter table agents drop column collections;
