"""Linux software RAID: https://docs.kernel.org/admin-guide/md.html"""

from pathlib import Path

from exporter.linux import files


def read_degraded(disk: Path) -> int | None:
    """The members that an array lacks; None for levels without redundancy, which have no count."""
    return files.integer(disk / "md" / "degraded")
