-- SQL cannot unpack a log: this fails, and changes nothing, while there is a packed one.
create table unpacked_logs (codec text check (codec is null));
insert into unpacked_logs select codec from logs where codec is not null limit 1;
drop table unpacked_logs;

alter table logs drop column plain_bytes;
alter table logs drop column codec;
