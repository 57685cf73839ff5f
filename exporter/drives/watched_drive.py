"""The state of one monitored drive: identity, last health values, and result of the last poll."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.drives.firmware import FirmwareIssue
from exporter.drives.health import DriveHealth, DriveIdentity


@dataclass(frozen=True, slots=True)
class WatchedDrive:
    """One drive as the metrics page and `ssd-exporter check` show it.

    label: the `device` label: the name of a block device, or the position behind a controller.
    serial: the serial number that the drive reports, else that of the kernel; empty if both
        are unknown.
    address: the arguments of smartctl, as text for people: "/dev/sda -d sat".
    up: the drive answered the last poll. A drive in standby counts as up.
    was_reached: the last poll reached the drive: smartctl was installed and had the permission.
    has_log_data: a daily poll has read the error log and the self-test log.
    health: None if no poll has succeeded within the maximum age.
    last_success_unix_time: when the last successful poll ended.
    poll_seconds: the duration of the last poll.
    polls: the number of polls by result since the poller started.
    message: why the last poll failed, or what is wrong with its result; else empty.
    wearout_seconds: the estimated time until the rated endurance is used up: low, mid, high.
    wearout_method: a value of `WearoutMethod`; empty without an estimate.
    blocks: the block devices that belong to a drive behind a controller.
    is_stuck: a smartctl process for this drive does not end.
    is_missing: the drive was present once, and the last scan did not find it.
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
