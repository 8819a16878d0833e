"""Whether the operations seem to take effect one at a time, each between its invocation and its answer."""
