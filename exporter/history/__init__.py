"""The I/O of each drive per minute and hour, kept on disk, and what happened to a drive when."""
