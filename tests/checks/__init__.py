"""Checks of the source and of what it depends on, run by `make check`."""
