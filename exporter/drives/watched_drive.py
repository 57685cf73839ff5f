"""One drive as it is watched: who it is, how it fared when last asked, and whether it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.drives.firmware import FirmwareIssue
from exporter.drives.health import DriveHealth, DriveIdentity


@dataclass(frozen=True, slots=True)
class WatchedDrive:
    """What the page and `ssd-exporter check` say of a drive.

    label: the `device` label: a block device's name, or the place behind a controller.
    serial: the drive's own, else what the kernel says; empty where neither knows.
    address: how smartctl is told of it, for people: "/dev/sda -d sat".
    was_reached: the last poll got as far as the drive; smartctl was there and had the rights.
    has_log_data: its error and self-test logs were read, by the daily set.
    health: None where no poll has succeeded within the maximum age.
    polls: how many polls ended how, since the poller began.
    message: why the last poll failed, or what is wrong with it, in words; else empty.
    blocks: the block devices that a drive behind a controller stands under.
    is_missing: it was here once, and no scan finds it any more.
    """

    label: str
    serial: str
    address: str
    identity: DriveIdentity = field(default_factory=DriveIdentity)
    up: bool = False
    was_reached: bool = True
    has_log_data: bool = True
    health: DriveHealth | None = None
    last_success_unix_time: float | None = None
    poll_seconds: float | None = None
    polls: Mapping[str, int] = field(default_factory=dict)
    message: str = ""
    firmware_issues: tuple[FirmwareIssue, ...] = ()
    wearout_seconds: tuple[float, float, float] | None = None
    wearout_method: str = ""
    blocks: tuple[str, ...] = ()
    is_stuck: bool = False
    is_missing: bool = False
