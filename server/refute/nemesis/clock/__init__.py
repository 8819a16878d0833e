"""Faults of one node's wall clock."""
