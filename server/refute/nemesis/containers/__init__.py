"""The docker plane: containers that carry our label, paused, killed, stopped and taken off their network."""
