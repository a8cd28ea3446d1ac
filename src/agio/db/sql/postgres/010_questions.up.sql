-- What a tool asks a person during its call.
alter table interrupts add column input text; -- JSON; null: the question is whether the call may run
