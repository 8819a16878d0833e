"""The same tools shown three ways: MCP server, command line, agent."""
