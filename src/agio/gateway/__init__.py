"""The public side: sign-in, tenants, REST, the log, the tool backend, and the streams clients read."""
