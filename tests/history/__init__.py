"""The I/O history: records of minutes, the files, the events."""
