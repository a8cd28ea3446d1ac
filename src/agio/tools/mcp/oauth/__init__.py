"""OAuth towards MCP servers: discovery, Connect, and tokens that are renewed once for all gateways."""
