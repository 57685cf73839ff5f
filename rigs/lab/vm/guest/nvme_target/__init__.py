"""Simulated NVMe drives, whose health log is read from a file.

The guest's own nvme-tcp driver makes /dev/nvmeX of each. Python's standard library only.
"""
