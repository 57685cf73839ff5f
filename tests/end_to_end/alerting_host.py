"""A host of tests/hosts with running counters, whose drives a test breaks and repairs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.end_to_end.alerting_counters import Counters, replace_whole
from tests.end_to_end.alerting_drives import Drives
from tests.hosts import growth
from tests.hosts.host import FOLDERS, copy_files

#: The shortest intervals that the settings accept, because the exporter itself is not shortened.
CONFIG = """
[survey]
interval_seconds = 5
[smart]
source = "exec"
nvme_interval_seconds = 10
interval_seconds = 10
timeout_seconds = 1
rescan_seconds = 60
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A host of tests/hosts, and its normal load.

    folder: the name in tests/hosts. reports: the file with the output of smartctl, by the last part
    of the drive's path. disks: the normal increase of diskstats per second. breaks: the drive that
    fails.
    """

    folder: str
    reports: Mapping[str, str]
    disks: Mapping[str, growth.Gains]
    breaks: str


#: Two drives: the redo log on nvme0n1, the data on nvme1n1.
NVME = Kind(
    "mysql-nvme-6.1",
    {"nvme0": "smart-nvme/smartctl/nvme0-nvme", "nvme1": "smart-nvme/smartctl/nvme0-nvme"},
    {
        "nvme0n1": {
            "writes": 840,
            "write_sectors": 26_880,
            "write_ms": 34,
            "io_ms": 120,
            "flushes": 420,
            "flush_ms": 12,
        },
        "nvme1n1": {
            "reads": 3200,
            "read_sectors": 102_400,
            "read_ms": 288,
            "writes": 2100,
            "write_sectors": 67_200,
            "write_ms": 50,
            "in_flight": 0,
            "io_ms": 484,
        },
    },
    "nvme1",
)

#: One drive with the system and the database.
SATA = Kind(
    "mysql-sata-5.15",
    {"sda": "smart-sata/smartctl/sda-sat"},
    {"sda": {"writes": 400, "write_sectors": 12_800, "write_ms": 40, "io_ms": 60}},
    "sda",
)


class Host:
    """A host in the directory `place`; `flags` configure the exporter for it.

    memory: a directory in memory, for the files that change several times a second, and for those
        whose disk must be fast.
    """

    def __init__(self, name: str, kind: Kind, place: Path, memory: Path) -> None:
        self.name = name
        self.place = place
        for part in ("sys", "rootfs"):
            (place / part).mkdir(parents=True)
        self.memory = memory
        (memory / "proc").mkdir(parents=True)
        (place / "proc").symlink_to(memory / "proc")
        copy_files(FOLDERS / kind.folder, place)
        self.counters = Counters(place, kind.disks)
        self.drives = Drives(place, kind.reports, self.counters)
        self._unmounted: list[tuple[Path, str]] = []

    @property
    def flags(self) -> tuple[str, ...]:
        paths = {"procfs": "proc", "sysfs": "sys", "rootfs": "rootfs"}
        told = (f"--path.{flag}={self.place / part}" for flag, part in paths.items())
        return (*told, f"--smartctl.path={self.drives.program}")

    def mounts(self, mountpoint: str, options: str) -> None:
        """Remounts a filesystem with these options; the first one is "ro" or "rw"."""
        mount = re.compile(rf"( {re.escape(mountpoint)} )\S+( .* )\S+$", re.MULTILINE)
        new = partial(mount.sub, rf"\g<1>{options}\g<2>{options}")
        for file in sorted(self.place.glob("proc/*/mountinfo")):
            replace_whole(file, new(file.read_text()))

    def unmounts(self, device: str) -> None:
        """Removes the filesystems of a drive from the mounts, as before the drive is removed."""
        for file in sorted(self.place.glob("proc/*/mountinfo")):
            lines = file.read_text().splitlines(keepends=True)
            self._unmounted.append((file, "".join(lines)))
            kept = (line for line in lines if f" /dev/{device}" not in line)
            replace_whole(file, "".join(kept))

    def mounts_again(self) -> None:
        """Restores what `unmounts` removed."""
        while self._unmounted:
            replace_whole(*self._unmounted.pop())

    def attribute(self, path: str, value: str) -> None:
        """Sets the content of a file of /sys."""
        replace_whole(self.place / "sys" / path, f"{value}\n")


def another_disk(host: Host) -> str:
    """Adds a second disk, because removing the only disk of a host would be another fault.

    Returns no further settings.
    """
    place = host.place / "sys/devices/virtual/block/vda"
    place.mkdir(parents=True)
    for name, value in {"dev": "252:0", "size": "2048"}.items():
        (place / name).write_text(f"{value}\n")
    for directory in ("block", "class/block"):
        (host.place / "sys" / directory / "vda").symlink_to(place)
    host.counters.rows(lambda text: f"{text} 252 0 vda {'0 ' * 16}0\n")
    return ""
