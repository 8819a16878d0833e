"""Faults of what clients do: too many connections, slow readers, requests that are sent again."""
