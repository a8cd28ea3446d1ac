-- SQL cannot unpack a log: this fails, and changes nothing, while there is a packed one.
alter table frames add constraint unpacked_logs check (codec is null);

alter table frames drop column plain_bytes;
alter table frames drop column codec;
