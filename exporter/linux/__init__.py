"""Reads and parses what the Linux kernel reports in /proc and /sys.

Most modules cover one kernel file and carry its name. They separate two kinds of functions:

- `read...` functions take the root of a filesystem (`proc`, `sys`, `rootfs`) and do the I/O.
- `parse...` functions take text or bytes and are pure: no I/O, no clock, no logs. They convert
  units once. A line that cannot be parsed is a fault, and all other lines are still used
  (`files.Parsed`).

`device` combines these modules to describe one block device. `topology` describes the storage of a
whole host.
"""
