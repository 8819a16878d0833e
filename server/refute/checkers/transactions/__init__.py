"""Isolation of transactions: dependency graphs, weak levels by axioms, exact search for small histories."""
