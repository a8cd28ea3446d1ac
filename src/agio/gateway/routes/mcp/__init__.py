"""MCP servers of a team."""
