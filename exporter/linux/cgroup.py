"""Reads io.stat of cgroup v2: the bytes that one control group read and wrote per device.

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
    """The I/O of one control group on one device, in bytes since the group was created."""

    read_bytes: int
    written_bytes: int


#: Counters by device number ``major:minor``.
IoStat = dict[str, CgroupIo]


def unified_root(sys: Path) -> Path:
    """Returns the root of the v2 hierarchy: fs/cgroup, or fs/cgroup/unified on hybrid hosts."""
    root = sys / "fs" / "cgroup"
    unified = root / "unified"
    return unified if os.path.isdir(unified) else root


def read_io_stat(group: Path) -> Parsed[IoStat]:
    """Returns the counters of a control group's directory.

    Raises:
        NotAvailable: the io controller is not enabled for this group.
        ReadError: the file exists but cannot be read.
    """
    return parse_io_stat(files.read(group / "io.stat"))


def parse_io_stat(text: str) -> Parsed[IoStat]:
    """Returns the counters by device number; each malformed line is a fault. Never raises.

    A line with a device number and no counters is skipped: kernels print it for unused devices.
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
