"""Panels on filesystems, MySQL data and kernel settings of a drive."""

from dashboards import promql as q
from dashboards import words
from dashboards.frame import Row
from dashboards.panel_parts import Size
from dashboards.tables import Column, grid


def _of_mount(family: str) -> str:
    return f"max by (job, instance, device, mountpoint) ({q.of_drive(family)})"


PLACE_ROW = Row(
    "Filesystems, MySQL roles and attachment",
    (
        grid(
            "Filesystems on this drive",
            "Includes filesystems on partitions, dm and md devices of this drive. A filesystem "
            "on several drives has one row per drive, each with its full size. Sizes exist only "
            "for filesystems of MySQL and of probes.",
            Column(
                "",
                "max by (job, instance, device, mountpoint, fstype) "
                f"({q.of_drive('ssd_mount_info')})",
            ),
            Column("size", _of_mount("ssd_filesystem_size_bytes"), "bytes"),
            Column("available", _of_mount("ssd_filesystem_avail_bytes"), "bytes"),
            Column("mode", _of_mount("ssd_filesystem_readonly"), "none", words=words.READ_ONLY),
            size=Size(12, 7),
            nothing="none mounted",
        ),
        grid(
            "MySQL data on this drive",
            "Detected from the command line and option files of the running server.",
            Column(
                "",
                f"max by (job, instance, device, role) ({q.of_drive('ssd_device_role_info')})",
            ),
            size=Size(5, 7),
            nothing="none detected",
        ),
        grid(
            "Kernel settings",
            "With write cache 'write back' and no power-loss protection, every commit waits for "
            "a full flush. The column block names the volumes of a drive behind a RAID "
            "controller.",
            Column(
                "",
                "max by (job, instance, device, scheduler, write_cache, fua, discard) "
                f"({q.of_drive('ssd_device_queue_info')})",
            ),
            Column(
                "",
                f"max by (job, instance, device, block) ({q.of_drive('ssd_device_block_info')})",
            ),
            size=Size(7, 7),
        ),
    ),
    is_collapsed=True,
)
