"""A simulated host: /proc and /sys below a directory."""

import os
from collections.abc import Iterable
from pathlib import Path

from tests.linux import trees

_STAT = "cpu  100 0 100 9000 10 0 5 0 0 0\ncpu0 100 0 100 9000 10 0 5 0 0 0\n"
_PRESSURE = (
    "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n"
    "full avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n"
)


class Host:
    """The directories `proc` and `sys`; `flags` pass them to the daemon."""

    def __init__(self, root: Path) -> None:
        self.proc, self.sys = root / "proc", trees.Sys(root / "sys")
        self.proc.mkdir(parents=True)
        self.sys.root.mkdir()
        self.write("stat", _STAT)
        for resource in ("cpu", "io", "memory"):
            self.write(f"pressure/{resource}", _PRESSURE)
        self.mounts("")
        self.diskstats([])

    @property
    def flags(self) -> tuple[str, str]:
        return f"--path.procfs={self.proc}", f"--path.sysfs={self.sys.root}"

    def disk(self, name: str, number: int) -> None:
        """Adds a disk with few attributes in /sys; `name` is the name in diskstats."""
        directory = name.replace("/", "!")
        place = f"devices/virtual/block/{directory}"
        self.sys.write(place, {"dev": f"259:{number}", "size": "2048"})
        self.sys.link(f"block/{directory}", place)
        self.sys.link(f"class/block/{directory}", place)

    def write(self, name: str, text: str) -> None:
        """Replaces a file of /proc atomically: a reader gets the old or the new content."""
        new = self.proc / "new"
        new.write_bytes(os.fsencode(text))
        (self.proc / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(new, self.proc / name)

    def mounts(self, mountinfo: str) -> None:
        self.write("1/mountinfo", mountinfo)

    def diskstats(self, names: Iterable[str], operations: int = 0) -> None:
        """Writes a row per device (iostats.rst) with `operations` reads and writes of 4 KiB."""
        n = operations
        counts = f"{n} 0 {8 * n} {n} {n} 0 {8 * n} {n} 0 {n} {2 * n} 0 0 0 0 0 0"
        rows = [f"{259:4} {number:7} {name} {counts}\n" for number, name in enumerate(names)]
        self.write("diskstats", "".join(rows))
