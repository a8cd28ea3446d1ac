"""MCP servers as tools: connections to them, their catalogues, calls of their tools.

servers.py is the way in. What imports the `mcp` package (connection, http, stdio, results) is imported on first use.
"""
