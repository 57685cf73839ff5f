"""Interprets SMART reports with one vocabulary for NVMe, ATA and SCSI drives, without I/O.

`smart_report.parse_report` is the entry point and returns records of `health`. `nvme`, `ata` and
`scsi` parse one protocol each. For ATA, `makes` groups models by the meaning of their vendor
attributes, and the `*_table` modules contain these meanings. `wearout` and `firmware` evaluate the
records, and `watched_drive` is the state of one monitored drive.
"""
