"""Reads a repository, never runs it: mirror, map, change scope, claims, tests, toolbox."""
