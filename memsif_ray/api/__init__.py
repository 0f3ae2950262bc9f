"""The memory service over HTTP: server, clients, MCP tools and the inspector. Knows no Ray."""
