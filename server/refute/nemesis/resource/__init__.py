"""Faults of what a node may use of the machine, and of neighbours that use it."""
