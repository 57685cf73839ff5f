"""Runs several versions of smartctl on simulated drives, and compares what is read."""
