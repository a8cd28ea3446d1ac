"""Background jobs: runs them, and the recurring ones of the server itself."""
