"""The server side of the vendors' wire formats: checks requests and writes responses."""
