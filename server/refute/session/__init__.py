"""The session directory: what a run leaves on disk, its report and its verification."""
