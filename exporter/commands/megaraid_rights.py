"""Detects whether smartctl lacks the capabilities to reach drives behind a MegaRAID controller.

smartctl opens a node of the controller's driver, and creates the node if it does not exist. The
driver requires CAP_SYS_ADMIN to open it. Without these capabilities smartctl's scan lists no such
drive and prints no reason. Sources: get_dev_megasas in os_linux.cpp of smartmontools, and
megasas_mgmt_open in drivers/scsi/megaraid/megaraid_sas_base.c of Linux.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from exporter.drives.watched_drive import WatchedDrive
from exporter.errors import SourceError
from exporter.linux import capabilities, files
from exporter.smart.poll_document import PollResult

_NODE = "megaraid_sas_ioctl_node"

_MEGARAID_ADDRESS = re.compile(r" -d (?:\S*\+)?megaraid,", re.ASCII)


def missing_capabilities(proc: Path, root: Path) -> tuple[str, ...]:
    """Returns the names of the capabilities that this process, and so smartctl, lacks.

    Empty if /proc/self/status cannot be read. root: the root directory in which smartctl runs.
    """
    try:
        status = files.read(f"{proc}/self/status")
    except SourceError:
        return ()
    return parse_missing(status, has_node=os.path.lexists(root / "dev" / _NODE))


def parse_missing(status: str, *, has_node: bool) -> tuple[str, ...]:
    """Returns the missing capabilities, from the text of /proc/self/status (capabilities(7)).

    has_node: the driver's node exists. CAP_MKNOD is then not required.
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
    """Returns the drives. Those that smartctl could not reach for lack of rights get this reason.

    Such a drive is neither missing nor failed: it was not polled. If another drive behind a
    controller answered, smartctl has the rights in another way (such as setuid), and a drive that
    does not answer has failed.
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
