"""Reads /proc/self/status: whether this process may send commands to drives.

https://man7.org/linux/man-pages/man7/capabilities.7.html
"""

from pathlib import Path

from exporter.errors import SourceError
from exporter.linux import files

#: Bit numbers from linux/capability.h. ATA and SCSI pass-through require CAP_SYS_RAWIO; NVMe and
#: RAID controllers require CAP_SYS_ADMIN.
CAP_SYS_RAWIO, CAP_SYS_ADMIN = 17, 21
#: smartctl needs CAP_MKNOD to create the device node of some RAID controllers.
CAP_MKNOD = 27


def may_send_drive_commands(proc: Path) -> bool:
    """Whether this process may query SMART data; False if /proc/self/status cannot be read."""
    try:
        return grants_drive_commands(files.read(f"{proc}/self/status"))
    except SourceError:
        return False


def grants_drive_commands(status: str) -> bool:
    """Whether the text of a status file grants CAP_SYS_RAWIO or CAP_SYS_ADMIN."""
    return bool((parse_effective(status) or 0) & (1 << CAP_SYS_RAWIO | 1 << CAP_SYS_ADMIN))


def parse_effective(status: str) -> int | None:
    """Returns the effective capabilities as a bit mask; None if the text has no valid CapEff."""
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == "CapEff":
            try:
                return int(value.strip(), 16)
            except ValueError:
                return None
    return None
