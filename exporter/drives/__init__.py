"""Interprets the SMART reports of smartctl. The result has the same fields for all protocols.

The protocols are NVMe, ATA and SCSI. The package does no I/O.

`smart_report.parse_report` is the entry point. It returns the records that `health` defines.
`nvme`, `ata` and `scsi` parse one protocol each. The meaning of an ATA attribute depends on the
vendor. So `makes` groups the models whose attributes have the same meaning, and the `*_table`
modules list these meanings. The package `assessment` decides whether a report is plausible, and
explains why a drive reports a failure. `wearout` estimates when the rated endurance is used up,
`firmware` detects known defects, and `watched_drive` defines the state of one monitored drive.
"""
