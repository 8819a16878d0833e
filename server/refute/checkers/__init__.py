"""History in, Result out: one module a property, pure functions only."""
