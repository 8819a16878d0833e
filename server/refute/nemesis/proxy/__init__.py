"""The proxy plane: a TCP proxy in every directed link between nodes, in a process of its own."""
