"""agio as an MCP server: the door, one exchange over HTTP, and agents as tools. Only the door is imported at start."""
