"""Records a host as a test folder, and removes serial numbers, host names and other identifiers.

`host_capture` writes the folder. `sysfs_capture`, `proc_capture` and `smartctl_capture` each record
one source; `redactor` and `identity_redaction` replace the identifiers.
"""
