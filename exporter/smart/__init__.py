"""Finds drives, polls them with smartctl, and keeps the results."""
