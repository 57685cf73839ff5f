"""/proc/self/status: whether this process may send commands to drives.

https://man7.org/linux/man-pages/man7/capabilities.7.html
"""

from pathlib import Path

from exporter.errors import SourceError
from exporter.linux import files

#: linux/capability.h; ATA and SCSI pass-through wants the one, NVMe and RAID controllers the other.
CAP_SYS_RAWIO, CAP_SYS_ADMIN = 17, 21
#: And some of these have smartctl make the node first.
CAP_MKNOD = 27


def may_send_drive_commands(proc: Path) -> bool:
    """Whether this process has one of the rights that SMART takes; False where that is unknown."""
    try:
        return grants_drive_commands(files.read(f"{proc}/self/status"))
    except SourceError:
        return False


def grants_drive_commands(status: str) -> bool:
    """The same out of the text of the file."""
    return bool((parse_effective(status) or 0) & (1 << CAP_SYS_RAWIO | 1 << CAP_SYS_ADMIN))


def parse_effective(status: str) -> int | None:
    """The bits of the rights in force, of that text; None where it does not say."""
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == "CapEff":
            try:
                return int(value.strip(), 16)
            except ValueError:
                return None
    return None
