"""Transactions about what a team defines: agents, tools, providers, secrets, drafts."""
