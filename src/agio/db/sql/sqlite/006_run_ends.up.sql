-- Why a run failed, and whether what it used is all told.

alter table runs add column error_message text;        -- null while it runs, unless it failed, and for what failed before this was kept
alter table runs add column usage_partial integer;       -- 0, 1; null while it runs, and for what ended before this was kept
