"""Programs that we run: one module each for its arguments and what it prints."""
