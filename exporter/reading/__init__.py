"""Interprets saved output of smartctl, for the command `read`."""
