alter table interrupts drop column input;
