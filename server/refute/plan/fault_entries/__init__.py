"""The entries of the fault catalog, by family."""
