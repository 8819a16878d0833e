"""Evidence in, one of ten verdicts out: pure functions only."""
