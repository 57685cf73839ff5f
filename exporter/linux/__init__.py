"""Reads and parses what the Linux kernel reports in /proc and /sys.

Most modules read one kernel file and have its name. They have two kinds of functions:

- `read...` functions take the root of a filesystem (`proc`, `sys`, `rootfs`) and do the I/O.
- `parse...` functions take text or bytes. They do no I/O, read no clock and write no logs. They
  convert the kernel's units.

Many of these functions return `files.Parsed`: the value from all valid lines, and a list of faults.
A fault is an exception object that describes one line or file that could not be used.

`device` combines these modules to describe one block device. `topology` describes the storage of a
whole host.
"""
