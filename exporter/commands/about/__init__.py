"""The commands about the program itself: `help` and `version`."""
