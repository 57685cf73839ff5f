"""Panels on filesystems, MySQL data and kernel settings of a drive."""

from dashboards.builders import promql as q
from dashboards.builders import words
from dashboards.builders.frame import Row
from dashboards.builders.panel_parts import Size
from dashboards.builders.tables import Column, Label, Rows, grid
from dashboards.state import free_space


def _of_mount(family: str) -> str:
    return f"max by (cluster, job, instance, device, mountpoint) ({q.of_drive(family)})"


def _sources() -> str:
    """Series with a subject and its source as labels."""
    by = "max by (cluster, job, instance, device, source)"
    wear = f"{by} ({q.of_drive('ssd_smart_endurance_source_info')})"
    method = q.of_drive("ssd_smart_wearout_method_info")
    named = f'label_replace({method}, "source", "$1", "method", "(.+)")'
    baseline = "ssd_disk_await_baseline_info"
    return "\nor ".join(
        f'label_replace({expression}, "subject", "{subject}", "", "")'
        for expression, subject in (
            (wear, "wear"),
            (f"{by} ({named})", "wear-out estimate"),
            *(
                (f"{by} ({q.of_drive(baseline, matcher)})", subject)
                for matcher, subject in (
                    ('op="read"', "baseline of reads"),
                    ('op="write"', "baseline of writes"),
                )
            ),
        )
    )


PLACE_ROW = Row(
    "Filesystems, MySQL roles and attachment",
    (
        grid(
            "Filesystems on this drive",
            "Includes filesystems on partitions, dm and md devices of this drive. A filesystem "
            "on several drives has one row per drive, each with its full size. Sizes exist only "
            "for filesystems of MySQL and of probes.",
            Rows(
                "max by (cluster, job, instance, device, mountpoint, fstype) "
                f"({q.of_drive('ssd_mount_info')})",
                "none mounted",
            ),
            Label("mountpoint", 160, title="mounted on", is_flexible=True),
            Label("fstype", 70, title="type"),
            Column("size", 85, _of_mount("ssd_filesystem_size_bytes"), "decbytes"),
            Column("free", 85, _of_mount("ssd_filesystem_avail_bytes"), "decbytes"),
            Column(
                "mode", 110, _of_mount("ssd_filesystem_readonly"), "none", words=words.READ_ONLY
            ),
            size=Size(12, 7),
            sort_by="size",
        ),
        grid(
            "MySQL data on this drive",
            "Detected from the command line and option files of the running server.",
            Rows(
                "max by (cluster, job, instance, device, role) "
                f"({q.of_drive('ssd_device_role_info')})",
                "none detected",
            ),
            Label("role", 160, is_flexible=True),
            size=Size(5, 7),
        ),
        grid(
            "Partitions that are not aligned",
            "Partitions that do not start at a multiple of the physical block size: each page "
            "that MySQL writes costs two blocks.",
            Rows(
                "max by (cluster, job, instance, device, partition) "
                f"({q.of_drive('ssd_partition_misaligned')} == 1)",
                "all are aligned",
            ),
            Label("partition", 160, is_flexible=True),
            size=Size(7, 7),
        ),
        grid(
            "Kernel settings",
            "With write cache 'write back' and no power-loss protection, every commit waits for "
            "a full flush.",
            Rows(
                "max by (cluster, job, instance, device, scheduler, write_cache, fua, discard) "
                f"({q.of_drive('ssd_device_queue_info')})",
                "not reported",
            ),
            Label("scheduler", 120),
            Label("write_cache", 140, title="write cache", is_flexible=True),
            Label("fua", 60, title="FUA"),
            Label("discard", 90),
            size=Size(8, 5),
        ),
        grid(
            "Sources of estimates",
            "Where wear and baselines come from. A guess from an attribute's name, and the floor "
            "of the drive class, are less certain than a standard log and a learned baseline.",
            Rows(_sources(), "not reported"),
            Label("subject", 140, is_flexible=True),
            Label("source", 160),
            size=Size(8, 5),
        ),
        grid(
            "Volumes of a RAID controller",
            "Block devices on top of a drive behind a RAID controller. If the controller does not "
            "report which volume contains the drive, all its volumes are listed.",
            Rows(
                "max by (cluster, job, instance, device, block) "
                f"({q.of_drive('ssd_device_block_info')})",
                "the drive is not behind a RAID controller",
            ),
            Label("block", 200, title="block device", is_flexible=True),
            size=Size(8, 5),
        ),
        *free_space(Size(12, 8)),
    ),
    is_collapsed=True,
)
