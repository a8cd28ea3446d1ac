drop table trace_exports;
drop table trace_queue;
alter table runs drop column traceparent;
alter table tenants drop column traces;
