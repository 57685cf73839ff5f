"""Records the wear of each drive over time, in an SQLite file, for the wear-out estimate."""
