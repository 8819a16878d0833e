"""The toxiproxy plane: faults that a running toxiproxy injects, by proxies and toxics of our own."""
