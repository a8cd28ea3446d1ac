"""Who is asking: API keys, browser sessions, passwords, OpenID Connect, revocation."""
