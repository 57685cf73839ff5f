"""Defines the metric families of devices: identity, topology, state and filesystems."""

from exporter.families.desc import MetricDesc

DEVICE_INFO = MetricDesc(
    "ssd_device_info",
    "Identity and attachment of a drive; the value is always 1 (sysfs, SMART). A USB bridge or "
    "RAID controller may report its own identity instead of the drive's.",
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
    "Size of the block device (sysfs size). For NVMe this is one namespace, not the whole drive.",
    ("device",),
)
DEVICE_QUEUE_INFO = MetricDesc(
    "ssd_device_queue_info",
    "Scheduler, write cache and discard support of the drive; the value is always 1 (sysfs "
    "queue). With write_cache='write back' and no power-loss protection, every fsync includes "
    "a full flush.",
    ("device", "scheduler", "write_cache", "fua", "discard"),
)
DEVICE_STATE_OK = MetricDesc(
    "ssd_device_state_ok",
    "1 if all NVMe controllers of the drive are live or the SCSI device is running (sysfs "
    "state). With multipath, the value is 0 if one path is lost.",
    ("device",),
)
IO_ERRORS = MetricDesc(
    "ssd_device_io_errors_total",
    "Commands that the SCSI layer completed with an error (sysfs ioerr_cnt). Unsupported "
    "commands count too and are harmless: alert on growth only.",
    ("device",),
    "counter",
)
IO_TIMEOUTS = MetricDesc(
    "ssd_device_io_timeouts_total",
    "Commands that timed out in the SCSI layer (sysfs iotmo_cnt).",
    ("device",),
    "counter",
)
PCIE_ERRORS = MetricDesc(
    "ssd_pcie_errors_total",
    "Errors of an NVMe controller that PCIe advanced error reporting counted (sysfs "
    "aer_dev_*). Each controller is exposed once, under its lowest namespace.",
    ("device", "severity"),
    "counter",
)
LINK_SPEED = MetricDesc(
    "ssd_link_speed_bytes_per_second",
    "Negotiated line rate of the drive's link over all lanes, after encoding (sysfs, SMART). "
    "PCIe power saving may lower it while the drive is idle.",
    ("device",),
)
LINK_SPEED_MAX = MetricDesc(
    "ssd_link_speed_max_bytes_per_second",
    "Highest line rate that drive and port both support (sysfs, SMART). For SAS only the "
    "maximum of the port is known, so a lower ssd_link_speed_bytes_per_second may be normal.",
    ("device",),
)
MD_DEGRADED = MetricDesc(
    "ssd_md_degraded_disks",
    "Missing members of a Linux software RAID array (sysfs md/degraded).",
    ("device",),
)
MD_SYNC_ACTION = MetricDesc(
    "ssd_md_sync_action_info",
    "What a Linux software RAID array synchronizes: recover is a rebuild, idle means nothing; "
    "the value is always 1 (sysfs md/sync_action).",
    ("device", "action"),
)
MD_SYNC_PROGRESS = MetricDesc(
    "ssd_md_sync_progress_ratio",
    "Completed share of ssd_md_sync_action_info (sysfs md/sync_completed). No sample while the "
    "array is idle or the action is delayed.",
    ("device",),
)
PARTITION_MISALIGNED = MetricDesc(
    "ssd_partition_misaligned",
    "1 if a partition does not start at a multiple of the physical block size, at least 4096 "
    "bytes (sysfs start, alignment_offset). The optimal I/O size of the drive is not "
    "considered.",
    ("device", "partition"),
)
MOUNT_INFO = MetricDesc(
    "ssd_mount_info",
    "A filesystem and a drive that stores it, also through dm and md; the value is always 1 "
    "(mountinfo, sysfs). A filesystem on several drives has one series per drive.",
    ("device", "mountpoint", "fstype"),
)
ROLE_INFO = MetricDesc(
    "ssd_device_role_info",
    "Role of the drive for a MySQL or MariaDB server, or from the settings; the value is always "
    "1 (the server's command line and option files, settings). The role of a server that has "
    "ended is kept for 7 days. Option files inside a container are not read.",
    ("device", "role"),
)
ROLE_ACTIVE = MetricDesc(
    "ssd_device_role_active",
    "1 if a server with this role runs, 0 if it has ended: see ssd_device_role_info (processes). "
    "A role from the settings has no sample.",
    ("device", "role"),
)
ROLE_SERVER = MetricDesc(
    "ssd_device_role_server_info",
    "The TCP port of a MySQL server that uses the drive, if several servers run on the host; the "
    "value is always 1 (the server's command line and option files). No sample if the port is not "
    "known, as in a container.",
    ("device", "role", "port"),
)
FILESYSTEM_READONLY = MetricDesc(
    "ssd_filesystem_readonly",
    "1 if nothing can be written: the filesystem or its mount is read-only, or an error has "
    "stopped its writes (mountinfo, stat). A filesystem on several drives has one series per "
    "drive: do not sum over devices.",
    ("device", "mountpoint"),
)
FILESYSTEM_FAILED = MetricDesc(
    "ssd_filesystem_failed",
    "1 if an error has stopped the writes of the filesystem, or its drive has disappeared "
    "(mountinfo, XFS: stat). 0 if an administrator mounted it read-only. A filesystem on several "
    "drives has one series per drive: do not sum over devices.",
    ("device", "mountpoint"),
)
FILESYSTEM_ERRORS = MetricDesc(
    "ssd_filesystem_errors_total",
    "Errors that ext4 recorded in its superblock, or btrfs in its device statistics (sysfs "
    "errors_count, error_stats). XFS counts none. A filesystem on several drives has one series "
    "per drive: do not sum over devices.",
    ("device", "mountpoint"),
    "counter",
)
ZFS_POOL_STATE = MetricDesc(
    "ssd_zfs_pool_state_info",
    "State of a ZFS pool, such as ONLINE, DEGRADED or SUSPENDED; the value is always 1 "
    "(/proc/spl/kstat/zfs). The kernel does not report the drives of a pool there.",
    ("pool", "state"),
)
FILESYSTEM_SIZE = MetricDesc(
    "ssd_filesystem_size_bytes",
    "Size of the filesystem (statvfs). A filesystem on several drives has one series per "
    "drive, each with the whole size: do not sum over devices.",
    ("device", "mountpoint"),
)
FILESYSTEM_AVAIL = MetricDesc(
    "ssd_filesystem_avail_bytes",
    "Space available to unprivileged users (statvfs f_bavail). A filesystem on several drives "
    "has one series per drive, each with the whole space: do not sum over devices.",
    ("device", "mountpoint"),
)
