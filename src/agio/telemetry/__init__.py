"""Logs, and the ids that correlate their lines."""
