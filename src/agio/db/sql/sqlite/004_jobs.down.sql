drop table leases;
drop table jobs;
