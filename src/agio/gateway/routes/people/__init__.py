"""Accounts, sign-in, teams, invitations, API keys, profiles, the audit log."""
