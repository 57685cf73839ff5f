"""Records a host as a folder of files for tests, without identifiers.

Identifiers are serial numbers, WWNs, UUIDs, and the names of hosts, volumes and directories. A text
is redacted if placeholders replace its identifiers.

`host_capture` writes the folder. `sysfs_capture`, `proc_capture` and `smartctl_capture` record one
source each. `redactor` replaces identifiers in any text, and `identity_redaction` in the attributes
of sysfs.
"""
