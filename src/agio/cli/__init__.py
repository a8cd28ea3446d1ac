"""The `agio` command: its options, what a terminal shows, a client of running servers, care for a store."""
