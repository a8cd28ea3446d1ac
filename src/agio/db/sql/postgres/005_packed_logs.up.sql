-- When a run has ended, its frames are replaced by packed blocks of complete lines.
alter table frames add column codec text;               -- zlib; null: the payload is plain
alter table frames add column plain_bytes bigint;       -- the payload's size before packing; null: it is plain
