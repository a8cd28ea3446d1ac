-- Rows of ended runs are packed, in blocks of complete lines.
alter table logs add column codec text;                 -- zlib; null: the payload is plain
alter table logs add column plain_bytes integer;        -- the payload's size before packing; null: it is plain
