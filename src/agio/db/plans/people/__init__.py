"""Transactions about who may do what: teams, accounts, identities, keys, profiles, the audit log."""
