"""What was recorded: operations, faults and their landing evidence, and the formats they are kept in."""
