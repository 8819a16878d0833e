"""One typed function for each thing that a caller can ask for, a module a family."""
