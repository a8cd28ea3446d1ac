drop table embeddings;
drop index passages_by_embedding;
alter table passages drop column embedding;
