"""Load: generators, clients, recorder."""
