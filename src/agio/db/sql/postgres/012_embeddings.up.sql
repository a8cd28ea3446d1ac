-- Vectors of passages, for searches by meaning.
alter table passages add column embedding text collate "C" not null default ''; -- the model of its vector; '': none

create index passages_by_embedding on passages (embedding, number);

create table embeddings (
    number bigint primary key references passages (number) on delete cascade,
    model text collate "C" not null,
    size bigint not null,
    vector real[] not null
);

-- The cosine distance. pgvector computes it where the database has it; otherwise SQL does, which is slower.
create function vector_distance(a real[], b real[]) returns double precision
language sql immutable strict parallel safe as
'select 1 - sum(x * y) / nullif(sqrt(sum(x * x)) * sqrt(sum(y * y)), 0) from unnest(a, b) as t (x, y)';

do $$
begin
    create extension if not exists vector;
    create or replace function vector_distance(a real[], b real[]) returns double precision
    language sql immutable strict parallel safe as 'select a::vector <=> b::vector';
exception when others then null;
end $$;
