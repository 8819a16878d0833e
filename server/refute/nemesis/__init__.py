"""Faults: catalog, ledger, guard, and one module a mechanism."""
