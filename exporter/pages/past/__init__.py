"""What the pages show of the past: the last hour, day and month of a drive, and all events."""
