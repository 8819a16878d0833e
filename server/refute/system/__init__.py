"""The system under test: node processes, readiness, observations, versions, environment probe."""
