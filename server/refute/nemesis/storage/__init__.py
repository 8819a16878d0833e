"""Faults of what a node keeps on disk."""
