"""NVMe drives made of software, whose health log is what a file says at that moment.

The guest's own nvme-tcp driver makes /dev/nvmeX of each. Python's standard library only.
"""
