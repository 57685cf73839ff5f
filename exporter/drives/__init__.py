"""What a drive's own report means: one vocabulary for NVMe, ATA and SCSI."""
