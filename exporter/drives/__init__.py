"""Interprets SMART reports: one vocabulary for NVMe, ATA and SCSI drives, without I/O."""
