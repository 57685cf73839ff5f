"""cgroup v2 io.stat: what one control group read and wrote, by device.

https://docs.kernel.org/admin-guide/cgroup-v2.html#io-interface-files

::

    259:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252 dbytes=50331648 dios=3021
"""

import os
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import ParseError
from exporter.linux import files
from exporter.linux.files import Parsed


@dataclass(frozen=True, slots=True)
class CgroupIo:
    """One control group's bytes on one device."""

    read_bytes: int
    written_bytes: int


#: Device number "major:minor" to its counters.
IoStat = dict[str, CgroupIo]


def unified_root(sys: Path) -> Path:
    """Where the v2 hierarchy stands: fs/cgroup itself, or a folder of it on hybrid hosts."""
    root = sys / "fs" / "cgroup"
    unified = root / "unified"
    return unified if os.path.isdir(unified) else root


def read_io_stat(group: Path) -> Parsed[IoStat]:
    """Raises NotAvailable where the io controller is not on for this group, ReadError else."""
    return parse_io_stat(files.read(group / "io.stat"))


def parse_io_stat(text: str) -> Parsed[IoStat]:
    """Counters by device number; a broken line is a fault.

    A line that names a device and no bytes is none: kernels print such for devices unused.
    """
    stat: IoStat = {}
    lines, faults = files.split_complete_lines("io.stat", text)
    for number, line in enumerate(lines, start=1):
        device, *pairs = line.split() or [""]
        if not pairs and ":" in device:
            continue
        try:
            values = dict(pair.split("=", 1) for pair in pairs)
            major, minor = (int(part) for part in device.split(":"))
            stat[f"{major}:{minor}"] = CgroupIo(
                files.parse_counter(values["rbytes"]), files.parse_counter(values["wbytes"])
            )
        except (ValueError, KeyError):
            faults.append(ParseError(f"io.stat:{number}: {line[:120]!r}"))
    return Parsed(stat, tuple(faults))
