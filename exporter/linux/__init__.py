"""Reads and parses what the Linux kernel reports in /proc and /sys.

Most modules cover one kernel file and carry its name. They separate two kinds of functions:

- `read...` functions take the root of a filesystem (`proc`, `sys`, `rootfs`) and do the I/O.
- `parse...` functions take text or bytes and are pure: no I/O, no clock, no logs. They convert
  units once, and a line that cannot be parsed costs only its own record (`files.Parsed`).

Built on these, `device` describes one block device, and `topology` the storage of a whole host.
"""
