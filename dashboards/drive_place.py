"""What stands on a drive, and how it is attached."""

from dashboards import promql as q
from dashboards import words
from dashboards.frame import Row
from dashboards.panel_parts import Size
from dashboards.tables import Column, grid


def _of_mount(family: str) -> str:
    return f"max by (job, instance, device, mountpoint) ({q.of_drive(family)})"


PLACE_ROW = Row(
    "What stands on it, and how is it attached?",
    (
        grid(
            "Filesystems on this drive",
            "Through partitions, dm and md: a filesystem on several drives has a row for each, "
            "with its whole size. Only those with a role in MySQL or a probe have sizes.",
            Column(
                "",
                "max by (job, instance, device, mountpoint, fstype) "
                f"({q.of_drive('ssd_mount_info')})",
            ),
            Column("size", _of_mount("ssd_filesystem_size_bytes"), "bytes"),
            Column("available", _of_mount("ssd_filesystem_avail_bytes"), "bytes"),
            Column("writes", _of_mount("ssd_filesystem_readonly"), "none", words=words.READ_ONLY),
            size=Size(12, 7),
            nothing="none mounted",
        ),
        grid(
            "What MySQL keeps on this drive",
            "Found from the running server's command line and option files.",
            Column(
                "",
                f"max by (job, instance, device, role) ({q.of_drive('ssd_device_role_info')})",
            ),
            size=Size(5, 7),
            nothing="nothing known",
        ),
        grid(
            "How the kernel drives it",
            "Write cache 'write back' without power-loss protection: each commit pays a full "
            "flush. A drive behind a controller is named by the volumes above it.",
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
