"""Which rights are missing to reach the drives behind a MegaRAID controller.

smartctl talks to these by a node of the driver's, which it makes itself where it is not there; the
driver lets nobody open it without CAP_SYS_ADMIN. Where these rights are missing, a scan names no
such drive and does not say why (get_dev_megasas in os_linux.cpp of smartmontools;
megasas_mgmt_open in drivers/scsi/megaraid/megaraid_sas_base.c of Linux).
"""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from exporter.drives.watched import WatchedDrive
from exporter.errors import SourceError
from exporter.linux import capabilities, files
from exporter.tools.outcome import Result

_NODE = "megaraid_sas_ioctl_node"

_BEHIND = re.compile(r" -d (?:\S*\+)?megaraid,", re.ASCII)


def lacking(proc: Path, root: Path) -> tuple[str, ...]:
    """What this process, and so the smartctl that it runs, lacks; none where that is unknown.

    root: the / in which smartctl runs.
    """
    try:
        status = files.read(f"{proc}/self/status")
    except SourceError:
        return ()
    return parse(status, has_node=os.path.lexists(root / "dev" / _NODE))


def parse(status: str, *, has_node: bool) -> tuple[str, ...]:
    """The same out of the text of /proc/self/status (capabilities(7))."""
    held = capabilities.effective(status)
    if held is None:
        return ()
    needed = [(capabilities.SYS_ADMIN, "CAP_SYS_ADMIN")]
    if not has_node:
        needed.append((capabilities.MKNOD, "CAP_MKNOD"))
    return tuple(name for bit, name in needed if not held & 1 << bit)


def explained(drives: Sequence[WatchedDrive], missing_rights: Sequence[str]) -> list[WatchedDrive]:
    """The same drives; those out of reach for want of these rights are said to be that.

    They are neither gone nor silent: nobody has asked them. Where another one answers through a
    controller, smartctl has the rights from elsewhere, and it is the drive's fault.
    """
    if not missing_rights or any(each.up and _is_behind(each) for each in drives):
        return list(drives)
    message = (
        "cannot be asked: it is behind a MegaRAID controller, and smartctl needs"
        f" {' and '.join(missing_rights)} to reach it; run this as root, or grant what is missing"
    )
    return [
        replace(each, is_missing=False, was_asked=False, message=message)
        if _is_behind(each) and (each.is_missing or Result.NO_ANSWER.value in each.polls)
        else each
        for each in drives
    ]


def _is_behind(drive: WatchedDrive) -> bool:
    return _BEHIND.search(drive.address) is not None
