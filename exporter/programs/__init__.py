"""Running other programs, with limits on time, output and number."""
