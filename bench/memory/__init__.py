"""Memory: how well it is found, and what that takes."""
