"""Transactions about conversations: sessions, files, forks, retention."""
