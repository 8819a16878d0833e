"""The system under test: its node processes, when it is ready, what can be watched in it, its environment."""
