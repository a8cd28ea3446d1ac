"""Transactions of runs: accept, claim, append, answer, read the log."""
