"""A virtual machine with MariaDB on a throttled NVMe drive, the package, and a load.

The kernel of the guest has cgroup v2 with io.stat, which a host may lack.
"""
