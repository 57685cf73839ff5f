"""Identity, topology, state: what is plugged in, what stands on it, and whether it works."""

from exporter.metrics.desc import MetricDesc

DEVICE_INFO = MetricDesc(
    "ssd_device_info",
    "A drive and how it is attached, from sysfs. "
    "A USB bridge or RAID controller may name itself and not the drive.",
    (
        "device",
        "controller",
        "model",
        "family",
        "serial",
        "firmware",
        "wwn",
        "transport",
        "protocol",
        "rotational",
    ),
)
DEVICE_CAPACITY = MetricDesc(
    "ssd_device_capacity_bytes",
    "Size of the block device (sysfs size). For NVMe this is the namespace, not the whole drive.",
    ("device",),
)
DEVICE_QUEUE_INFO = MetricDesc(
    "ssd_device_queue_info",
    "How the kernel queues, caches and discards on this drive (sysfs queue). "
    "With write_cache='write back' and no power-loss protection every fsync pays a full flush.",
    ("device", "scheduler", "write_cache", "fua", "discard"),
)
DEVICE_STATE_OK = MetricDesc(
    "ssd_device_state_ok",
    "1 while all NVMe controllers of the drive are live, or the SCSI device is running (sysfs "
    "state). With multipath one lost path is enough for 0.",
    ("device",),
)
IO_ERRORS = MetricDesc(
    "ssd_device_io_errors_total",
    "Commands that the SCSI layer saw end in an error (sysfs ioerr_cnt). "
    "Harmless probing of unsupported commands counts as well: watch growth.",
    ("device",),
    "counter",
)
IO_TIMEOUTS = MetricDesc(
    "ssd_device_io_timeouts_total",
    "Commands that the SCSI layer gave up waiting for (sysfs iotmo_cnt).",
    ("device",),
    "counter",
)
PCIE_ERRORS = MetricDesc(
    "ssd_pcie_errors_total",
    "Errors that PCIe advanced error reporting counted at an NVMe controller (sysfs aer_dev_*). "
    "Shown once per controller, under its lowest namespace.",
    ("device", "severity"),
    "counter",
)
LINK_SPEED = MetricDesc(
    "ssd_link_speed_bytes_per_second",
    "Line rate that is negotiated with the drive, after encoding, all lanes (sysfs). "
    "PCIe power saving may lower it while the drive is idle.",
    ("device",),
)
LINK_SPEED_MAX = MetricDesc(
    "ssd_link_speed_max_bytes_per_second",
    "Line rate that drive and port could have, as far as both are known (sysfs). "
    "For SAS only the port is known, and a slower drive is no fault.",
    ("device",),
)
MD_DEGRADED = MetricDesc(
    "ssd_md_degraded_disks",
    "Members that a Linux software RAID array lacks (sysfs md/degraded).",
    ("device",),
)
PARTITION_MISALIGNED = MetricDesc(
    "ssd_partition_misaligned",
    "1 where a partition does not start on a multiple of the physical block, at least 4096 bytes "
    "(sysfs start, alignment_offset). The optimal I/O size that a drive claims is not the unit.",
    ("device", "partition"),
)
MOUNT_INFO = MetricDesc(
    "ssd_mount_info",
    "A filesystem and a drive under it, through partitions, dm and md (mountinfo, sysfs). "
    "One series per drive.",
    ("device", "mountpoint", "fstype"),
)
ROLE_INFO = MetricDesc(
    "ssd_device_role_info",
    "What a drive does for a running MySQL or MariaDB server, from its command line and option "
    "files. A container's own option files are not read.",
    ("device", "role"),
)
FILESYSTEM_READONLY = MetricDesc(
    "ssd_filesystem_readonly",
    "1 while the filesystem, or its mount, takes no writes (mountinfo). "
    "One series per drive under it: do not sum over devices.",
    ("device", "mountpoint"),
)
FILESYSTEM_ERRORS = MetricDesc(
    "ssd_filesystem_errors_total",
    "Errors that ext4 has noted in its superblock (sysfs errors_count). "
    "One series per drive under it: do not sum over devices.",
    ("device", "mountpoint"),
    "counter",
)
FILESYSTEM_SIZE = MetricDesc(
    "ssd_filesystem_size_bytes",
    "Size of the filesystem (statvfs). "
    "One series per drive under it, each with the whole size: do not sum over devices.",
    ("device", "mountpoint"),
)
FILESYSTEM_AVAIL = MetricDesc(
    "ssd_filesystem_avail_bytes",
    "What an ordinary user may still fill (statvfs f_bavail). "
    "One series per drive under it, each with the whole: do not sum over devices.",
    ("device", "mountpoint"),
)
