"""Faults of who belongs to the system, made by the system's own commands."""
