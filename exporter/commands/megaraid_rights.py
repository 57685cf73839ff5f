"""Detects whether smartctl lacks the capabilities to reach drives behind a MegaRAID controller.

smartctl opens a device node of the controller's driver, for which the driver requires
CAP_SYS_ADMIN. If the node does not exist, smartctl creates it, which requires CAP_MKNOD. Without
these capabilities, smartctl's scan lists no such drive and prints no reason. Sources:
get_dev_megasas in os_linux.cpp of smartmontools, and megasas_mgmt_open in
drivers/scsi/megaraid/megaraid_sas_base.c of Linux.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from exporter.drives.watched_drive import WatchedDrive
from exporter.linux import capabilities, files
from exporter.runtime.errors import SourceError
from exporter.smart.polling.poll_result import PollResult

_NODE = "megaraid_sas_ioctl_node"

_MEGARAID_ADDRESS = re.compile(r" -d (?:\S*\+)?megaraid,", re.ASCII)


def missing_capabilities(proc: Path, root: Path) -> tuple[str, ...]:
    """Returns the names of the required capabilities that this process lacks.

    smartctl lacks them too, because this process starts it. The tuple is empty if none is missing,
    or if /proc/self/status cannot be read.

    proc: the mount point of /proc. root: the root directory in which smartctl runs.
    """
    try:
        status = files.read(f"{proc}/self/status")
    except SourceError:
        return ()
    return parse_missing(status, has_node=os.path.lexists(root / "dev" / _NODE))


def parse_missing(status: str, *, has_node: bool) -> tuple[str, ...]:
    """Returns the names of the required capabilities that a process lacks.

    status: the text of /proc/PID/status of the process; see capabilities(7).
    has_node: whether the driver's device node exists. If it does, CAP_MKNOD is not required.
    """
    held = capabilities.parse_effective(status)
    if held is None:
        return ()
    needed = [(capabilities.CAP_SYS_ADMIN, "CAP_SYS_ADMIN")]
    if not has_node:
        needed.append((capabilities.CAP_MKNOD, "CAP_MKNOD"))
    return tuple(name for bit, name in needed if not held & 1 << bit)


def with_missing_rights(
    drives: Sequence[WatchedDrive], missing: Sequence[str]
) -> list[WatchedDrive]:
    """Returns the drives. Drives that smartctl had no right to reach get a message with the reason.

    The drives behind MegaRAID controllers are such drives if none of them answered. These drives
    are marked as not polled, because they may be healthy. If one of them answered, smartctl has the
    rights in another way (such as setuid). All drives are then returned unchanged.

    missing: the names of the missing capabilities. If it is empty, the drives are returned
        unchanged.
    """
    if not missing or any(drive.up and _is_behind_megaraid(drive) for drive in drives):
        return list(drives)
    message = (
        "not polled: it is behind a MegaRAID controller, and smartctl needs"
        f" {' and '.join(missing)} to reach it; run this command as root or grant the capabilities"
    )
    return [
        replace(drive, is_missing=False, was_reached=False, message=message)
        if _is_behind_megaraid(drive)
        and (drive.is_missing or PollResult.NO_ANSWER.value in drive.polls)
        else drive
        for drive in drives
    ]


def _is_behind_megaraid(drive: WatchedDrive) -> bool:
    return _MEGARAID_ADDRESS.search(drive.address) is not None
