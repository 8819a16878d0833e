"""The netns plane: a network namespace and address for each node and one for clients, and real packets."""
