"""Defines the state of one monitored drive: identity, last health values, result of the last poll.

A poll is one call of smartctl for one drive. The poller is the part of the exporter that polls the
drives regularly.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.drives.firmware import FirmwareIssue
from exporter.drives.health import DriveHealth, DriveIdentity


@dataclass(frozen=True, slots=True)
class WatchedDrive:
    """One drive as the metrics page and `ssd-exporter check` show it.

    label: the value of the label `device`: the name of a block device, or the position of the drive
        behind a controller.
    serial: the serial number that the drive reports, or else the one that the kernel reports. Empty
        if both are unknown.
    address: the arguments with which smartctl reads the drive, as text for people:
        "/dev/sda -d sat".
    identity: the identity that the drive reports; values that it does not report may come from the
        kernel.
    up: True if the drive answered the last poll. A drive in standby counts as up.
    was_reached: False if smartctl is the reason that the last poll did not reach the drive. For
        example, smartctl could not be started, is too old, has no permission, or does not know the
        type of the drive.
    is_polled: False for an eMMC: its health comes from the kernel, and no program reads it.
    has_log_data: True if a daily poll has read the error log and the self-test log.
    health: the health values of the last successful poll. None means that no poll has succeeded
        within the maximum age.
    last_success_unix_time: the start of the last successful poll, in seconds of Unix time. None
        means that no poll has succeeded since the poller started.
    poll_seconds: the duration of the last poll. None means that the drive was not polled.
    polls: the number of polls since the poller started, keyed by result.
    message: the reason why the last poll failed, or what is wrong with its result; else empty.
    firmware_issues: the known defects of the firmware that the drive runs.
    wearout_seconds: the low, middle and high estimate of the time until the rated endurance is used
        up. None means that there is no estimate.
    wearout_method: a value of `WearoutMethod`; empty if there is no estimate.
    wearout_missing: why there is no estimate, as text for people. Empty if there is one, or if the
        reason is not known. Only commands set it.
    mountpoints: where the filesystems on this drive are mounted. Only commands set it.
    blocks: the names of the block devices that belong to a drive behind a controller.
    is_stuck: True if a smartctl process for this drive does not end.
    is_missing: True if the drive was present once, and the last scan for drives did not find it.
    is_known: False if the address may be an empty slot, a place of a controller without a drive. No
        drive has ever answered there, and the kernel and the scan list none.
    key: identifies the drive during its whole life (`inventory.KnownDrive.key`); empty if unknown.
    """

    label: str
    serial: str
    address: str
    identity: DriveIdentity = field(default_factory=DriveIdentity)
    up: bool = False
    was_reached: bool = True
    is_polled: bool = True
    has_log_data: bool = True
    health: DriveHealth | None = None
    last_success_unix_time: float | None = None
    poll_seconds: float | None = None
    polls: Mapping[str, int] = field(default_factory=dict)
    message: str = ""
    firmware_issues: tuple[FirmwareIssue, ...] = ()
    wearout_seconds: tuple[float, float, float] | None = None
    wearout_method: str = ""
    wearout_missing: str = ""
    mountpoints: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    is_stuck: bool = False
    is_missing: bool = False
    is_known: bool = True
    key: str = ""

    @property
    def never_answered(self) -> bool:
        """True if the address was polled and may be an empty slot (`is_known` is False)."""
        return not (self.up or self.is_known) and bool(self.polls)

    @property
    def is_lost(self) -> bool:
        """True if a known drive did not answer its last poll.

        False if smartctl could not be used (`was_reached` is False).
        """
        was_polled = bool(self.polls or self.message or self.is_stuck)
        is_silent = was_polled and not self.up
        return self.is_missing or (is_silent and self.is_known and self.was_reached)
