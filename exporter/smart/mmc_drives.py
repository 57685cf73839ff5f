"""Describes the health of eMMC and UFS drives. smartctl reads neither. Pure.

An eMMC reports ranges: its used life in steps of 10 %, and whether 80 % or 90 % of its reserved
blocks are used (JEDEC JESD84-B51, EXT_CSD bytes 267 to 269). The health contains the lower bound of
the used life, and the upper bound of the reserved blocks that are left. An alert at 80 % is
therefore always correct.

The kernel does not cache these values of a UFS drive. A read of its files sends a query to the
drive, wakes the drive, and waits for the answer without a timeout (ufs_sysfs_read_desc_param in
drivers/ufs/core/ufs-sysfs.c). These files are therefore not read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from exporter.drives.health import DriveHealth, DriveIdentity, Endurance, EnduranceSource
from exporter.drives.watched_drive import WatchedDrive
from exporter.linux.device import Device
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.mmc_sysfs import LIFE_STEP_RATIO, MmcHealth

#: The share of the reserved blocks at which an eMMC reports `urgent`, and at most left then.
_URGENT_RATIO = 0.1

#: The share of the reserved blocks that is at most left in each state that an eMMC reports. The
#: state `normal` is not listed: 20 % to 100 % are left, which is too wide for a value.
_SPARE_RATIOS = {"warning": 0.2, "urgent": _URGENT_RATIO}

#: The names of eMMC and SD cards. Other names, such as mmcblk0gp1, are areas of the same card.
_CARD = re.compile(r"mmcblk\d+", re.ASCII)

#: Why `check` has no health values of an eMMC or SD card.
NO_WEAR = (
    "the kernel reports no usable wear of this card: SD cards have none, and neither do eMMC before"
    " version 5.0"
)

_TOO_COARSE = "an eMMC reports its wear in steps of 10 %, which is too coarse for an estimate"


def watched(devices: Mapping[str, Device]) -> Iterator[WatchedDrive]:
    """Yields each eMMC that reports its wear.

    devices: the block devices of the kernel, keyed by name.
    """
    for name, device in devices.items():
        health = None if device.state.mmc is None else mmc_health(device.state.mmc)
        if health is None or not _CARD.fullmatch(name):
            continue
        kernel = device.identity
        yield WatchedDrive(
            label=name,
            serial=kernel.serial or "",
            address=f"/dev/{name}",
            identity=DriveIdentity(
                model=kernel.model,
                serial=kernel.serial,
                firmware=kernel.firmware,
                capacity_bytes=device.block.capacity_bytes,
                rotational=False,
            ),
            up=True,
            is_polled=False,
            health=health,
            wearout_missing=_wearout_missing(health),
        )


def mmc_health(mmc: MmcHealth) -> DriveHealth | None:
    """Returns the health of an eMMC; None if it reports no value.

    The blocks of type A and of type B wear independently. The drive is worn out if the blocks of
    one type are worn out, so the larger wear is returned. If the state of the reserve is `normal`,
    the spare blocks are unknown.
    """
    areas = (("A", mmc.type_a_used_ratio), ("B", mmc.type_b_used_ratio))
    known = [(ratio, area) for area, ratio in areas if ratio is not None]
    endurance = None
    if known:
        ratio, area = max(known)
        rule = f"life_time, type {area}: lower bound of its range"
        endurance = Endurance(ratio, EnduranceSource.MMC_LIFE_TIME, LIFE_STEP_RATIO, rule)
    spare = _SPARE_RATIOS.get(mmc.reserve or "")
    if endurance is None and spare is None:
        return None
    return DriveHealth(
        endurance=endurance,
        spare_ratio=spare,
        spare_step_ratio=0.0 if spare is None else 0.1,
        spare_threshold_ratio=None if spare is None else _URGENT_RATIO,
    )


def _wearout_missing(health: DriveHealth) -> str:
    """Returns why there is no estimate; empty if the wear is unknown or the endurance is used."""
    worn = health.endurance
    return "" if worn is None or worn.used_ratio >= 1 else _TOO_COARSE


def with_ufs_limit(drive: WatchedDrive, kernel: DeviceIdentity | None) -> WatchedDrive:
    """Returns the drive. A UFS drive without wear gets a text with the reason and where to read it.

    kernel: the identity that the kernel reports; None means unknown.
    """
    health = drive.health
    if kernel is None or kernel.transport != "ufs" or health is None or health.endurance:
        return drive
    reason = (
        "smartctl cannot read the wear of a UFS drive, and the exporter does not read the kernel's"
        " files because a read can hang: look in"
        f" /sys/block/{drive.label}/device/../../../health_descriptor"
    )
    if health.unreadable:
        return replace(drive, health=replace(health, unreadable=reason))
    return replace(drive, wearout_missing=reason)
