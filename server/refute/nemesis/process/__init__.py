"""The process plane: nodes killed, stopped, paused and started again."""
