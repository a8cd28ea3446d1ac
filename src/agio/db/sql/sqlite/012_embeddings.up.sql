-- Vectors of passages, for searches by meaning.
alter table passages add column embedding text not null default ''; -- the model of its vector; '': it has none

create index passages_by_embedding on passages (embedding, number);

create table embeddings (
    number integer primary key references passages (number) on delete cascade,
    model text not null,
    size integer not null,
    vector blob not null                    -- 32-bit floats
) strict;
