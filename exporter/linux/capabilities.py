"""Checks in /proc/self/status whether this process may send commands to drives.

https://man7.org/linux/man-pages/man7/capabilities.7.html
"""

from pathlib import Path

from exporter.linux import files
from exporter.runtime.errors import SourceError

#: The bit numbers of two capabilities, from linux/capability.h. ATA and SCSI commands require
#: CAP_SYS_RAWIO. Commands to NVMe drives and RAID controllers require CAP_SYS_ADMIN.
CAP_SYS_RAWIO, CAP_SYS_ADMIN = 17, 21
#: The bit number of CAP_MKNOD, which smartctl needs to create the device nodes of some RAID
#: controllers.
CAP_MKNOD = 27


def may_send_drive_commands(proc: Path) -> bool:
    """True if this process may send commands to drives, for example to read SMART data.

    The result is False if /proc/self/status cannot be read.
    """
    try:
        return grants_drive_commands(files.read(f"{proc}/self/status"))
    except SourceError:
        return False


def grants_drive_commands(status: str) -> bool:
    """True if a process has CAP_SYS_RAWIO or CAP_SYS_ADMIN.

    status: the text of the process's file /proc/<pid>/status.
    """
    return bool((parse_effective(status) or 0) & (1 << CAP_SYS_RAWIO | 1 << CAP_SYS_ADMIN))


def parse_effective(status: str) -> int | None:
    """Returns the effective capabilities of a process as a bit mask.

    None means that the text has no valid CapEff line.

    status: the text of the process's file /proc/<pid>/status.
    """
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == "CapEff":
            try:
                return int(value.strip(), 16)
            except ValueError:
                return None
    return None
