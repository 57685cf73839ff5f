"""Runs several versions of smartctl on a simulated NVMe drive, and compares what is read."""
