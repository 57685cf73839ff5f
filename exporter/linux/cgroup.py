"""Reads how many bytes a control group (cgroup v2) read and wrote on each device, from io.stat.

https://docs.kernel.org/admin-guide/cgroup-v2.html#io-interface-files

A line of the file::

    259:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252 dbytes=50331648 dios=3021
"""

import os
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import LimitReached, ParseError
from exporter.linux import files
from exporter.linux.files import Parsed

#: The maximum size of io.stat, in bytes. It has about 100 bytes for each device.
_MAX_FILE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class CgroupIo:
    """The I/O of one control group on one device, in bytes since the group was created."""

    read_bytes: int
    written_bytes: int


#: The counters of a control group, keyed by the device number ``major:minor``.
IoStat = dict[str, CgroupIo]


def unified_root(sys: Path) -> Path:
    """Returns the root directory of the cgroup v2 hierarchy.

    This is fs/cgroup below `sys`, or fs/cgroup/unified on hosts that use cgroup v1 and v2 together.
    """
    root = sys / "fs" / "cgroup"
    unified = root / "unified"
    return unified if os.path.isdir(unified) else root


def read_io_stat(group: Path) -> Parsed[IoStat]:
    """Returns the I/O counters of a control group, keyed by device number.

    Each malformed line adds an exception to `Parsed.faults`.

    group: the directory of the control group.

    Raises:
        NotAvailable: the io controller is not enabled for this group.
        ReadError: the file exists but cannot be read.
    """
    return parse_io_stat(files.read(group / "io.stat", _MAX_FILE_BYTES))


def parse_io_stat(text: str) -> Parsed[IoStat]:
    """Returns the counters from the text of an io.stat file, keyed by device number.

    Never raises: each malformed line adds an exception to `Parsed.faults`. A line with a device
    number and no counters is skipped, because kernels print such lines for unused devices.
    """
    stat: IoStat = {}
    lines, faults = files.split_complete_lines("io.stat", text, files.MAX_DEVICES)
    for number, line in enumerate(lines, start=1):
        if len(stat) >= files.MAX_DEVICES:
            faults.add(
                LimitReached(f"io.stat: only the first {files.MAX_DEVICES} devices are used")
            )
            break
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
            faults.add(ParseError(f"io.stat:{number}: {line[:120]!r}"))
    return Parsed(stat, faults.listed())
