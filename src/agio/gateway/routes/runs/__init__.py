"""Runs, their logs, and runs whose caller waits for the end."""
