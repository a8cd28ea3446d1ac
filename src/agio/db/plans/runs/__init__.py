"""Transactions on the road of a message: accept, claim, append, answer, read the log."""
