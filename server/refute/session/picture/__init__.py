"""The picture of a history: one HTML page with the operations in time, the faults, and what conflicts."""
