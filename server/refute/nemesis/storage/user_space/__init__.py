"""A file system of our own in user space that loses what was not synced when it is told to."""
