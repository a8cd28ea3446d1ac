"""Identity: accounts, teams, roles, API keys, worker keys, OpenID providers."""
