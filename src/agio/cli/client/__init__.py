"""A running server as the commands ask it: REST, its runs, and runs found by what a person types."""
