"""Defines the records for the identity and health of a drive, which are the same for all protocols.

In all records, None or a missing key means that the drive does not report the value. It does not
mean zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from exporter.drives.drive_identity import DriveIdentity, Protocol

if TYPE_CHECKING:
    from exporter.drives.nvme_logs.log_document import ParsedLogs

__all__ = [
    "AtaAttribute",
    "DriveHealth",
    "DriveIdentity",
    "DriveReport",
    "Endurance",
    "EnduranceSource",
    "Protocol",
    "RejectedValue",
    "RejectionKind",
    "SelfTest",
    "UnitSource",
    "WrittenBytes",
]


class EnduranceSource(str, Enum):
    """Names the source from which the wear of a drive was read. The most reliable one is first."""

    NVME_LOG = "nvme_log"
    SCSI_LOG = "scsi_log"
    ATA_DEVSTAT = "ata_devstat"
    MMC_LIFE_TIME = "mmc_life_time"
    FAMILY_RULE = "family_rule"
    NAME_GUESS = "name_guess"


@dataclass(frozen=True, slots=True)
class Endurance:
    """The wear of a drive: the share of its rated endurance that it has used.

    used_ratio: the used share. 0 means a new drive, and 1 means that the rated endurance is used
        up. It may exceed 1.
    source: the source of the value.
    step_ratio: the resolution of `used_ratio`; 0.01 for a drive that counts whole percents. An eMMC
        reports ranges of 0.1, and `used_ratio` is the lower bound of the range.
    rule: the field or attribute and the formula, as text for people. It is not compared.
    is_lower_bound: True if the gauge of the drive has reached the end of its scale and stopped. The
        drive has used at least `used_ratio`.
    """

    used_ratio: float
    source: EnduranceSource
    step_ratio: float = 0.01
    rule: str = field(default="", compare=False)
    is_lower_bound: bool = False


class UnitSource(str, Enum):
    """Names the source from which the unit of a byte counter is known."""

    STANDARD = "standard"  # NVMe data units, ATA logical sectors, SCSI gigabytes processed
    FAMILY_RULE = "family_rule"  # a row of `written_table`
    NAME = "name"  # Total_LBAs_Written or Total_LBAs_Read of a hard disk: logical sectors


@dataclass(frozen=True, slots=True)
class WrittenBytes:
    """The value of a counter of bytes that a drive has read or written since it was made.

    bytes: the number of bytes.
    unit_bytes: the unit in which the drive counts, in bytes. `bytes` is a multiple of it.
    source: how the unit is known.
    rule: the field or attribute and the unit, as text for people. It is not compared.
    is_confirmed: True if two counters of the drive agree. It is not compared.
    """

    bytes: int
    unit_bytes: int
    source: UnitSource
    rule: str = field(default="", compare=False)
    is_confirmed: bool = field(default=False, compare=False)


class RejectionKind(str, Enum):
    """Names why a value is not used. The values are those of a label."""

    CONTRADICTED = "contradicted"  # by another value of the drive, or its unit is unknown
    IMPOSSIBLE = "impossible"  # no drive of this age, capacity and link can have it
    FELL = "fell"  # a lifetime counter is lower than in the previous report
    JUMPED = "jumped"  # a lifetime counter has grown by more than the elapsed time allows
    LOG_INVALID = "log_invalid"  # the log as a whole does not contain what it should


@dataclass(frozen=True, slots=True)
class RejectedValue:
    """A value that the drive reports and that is not used, because it is implausible.

    metric: the name of the metric family that the value would have had, without the prefix
        `ssd_smart_`.
    value: the value in the base unit of the metric.
    rule: the field or attribute and the formula, as text for people.
    reason: why the value is not used, as text for people.
    kind: the kind of the reason. A record with `LOG_INVALID` represents all values of a log; its
        metric is "available".
    """

    metric: str
    value: float
    rule: str
    reason: str
    kind: RejectionKind = RejectionKind.CONTRADICTED


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The result of the last self-test that a drive completed.

    passed: True if the drive passed the test, False if it failed.
    completed_power_on_seconds: the power-on time of the drive when the test ended, in seconds.
        None means unknown.
    """

    passed: bool
    completed_power_on_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class AtaAttribute:
    """One row of the ATA SMART attribute table.

    id: the number of the attribute, 1 to 255.
    name: the name of the attribute in smartctl's drive database.
    raw: the raw value as one number. ATA drives report 48 bits.
    raw_text: the raw value as smartctl formats it.
    value: the current normalized value, 0 to 255. None means that smartctl does not print it.
    worst: the lowest normalized value until now. None means that smartctl does not print it.
    threshold: the limit for the normalized value. None means that smartctl does not print it.
    failed: when the normalized value was at or below the threshold: "now", "past" or "" (never).
    prefailure: True if the vendor declares that a failed attribute predicts a failure of the drive.
    flags: the flags as smartctl prints them, such as "PO--CK"; empty if it does not print them.
    """

    id: int
    name: str
    raw: int
    raw_text: str = ""
    value: int | None = None
    worst: int | None = None
    threshold: int | None = None
    failed: str = ""
    prefailure: bool = False
    flags: str = ""


@dataclass(frozen=True, slots=True)
class DriveHealth:
    """The health values in one report. None means that the drive does not report the value.

    The counters cover the whole life of the drive. The exception is `interface_errors` of a SAS
    drive, which starts at power on.

    healthy: True if the drive assesses its own health as good (ATA SMART status, NVMe critical
        warning, SCSI informational exceptions).
    endurance: the wear.
    spare_ratio: the share of the spare blocks that is left, 0 to 1; 1 for a new drive.
    spare_step_ratio: the resolution of `spare_ratio`. An eMMC reports ranges of 0.1, and
        `spare_ratio` is the upper bound of the range.
    spare_threshold_ratio: if `spare_ratio` is at or below this share, the drive reports a failure.
    temperatures: °C, keyed by sensor. "drive" is the composite or only sensor; "1" to "8" are the
        additional sensors of an NVMe drive.
    temperature_warning_celsius: the drive should not be hotter than this.
    temperature_critical_celsius: the drive must not be hotter than this.
    over_temperature_warning_seconds: the total time above the warning temperature.
    over_temperature_critical_seconds: the total time above the critical temperature.
    critical_warnings: the bits of the NVMe critical warning, keyed by name; True if the bit is set.
        A reserved bit has a key only if it is set.
    host_read, host_written: the bytes that the host has read and written.
    nand_written: the bytes that the drive has written to its flash.
    media_errors: the number of uncorrectable errors of the medium.
    corrected_errors: the number of errors that the drive corrected, keyed by how: "ecc_fast",
        "ecc_delayed" or "retry" of a SCSI drive, "soft_ecc" or "xor" of an NVMe drive.
    reallocated_sectors: the number of defective sectors or blocks that were replaced.
    pending_sectors: the number of sectors that cannot be read and are not yet replaced.
    program_failures, erase_failures: the number of failed program and erase operations.
    interface_errors: the number of transmission errors on the SATA or SAS link.
    error_log_entries: the number of errors that the drive has logged.
    power_on_seconds: the total power-on time.
    power_cycles: the number of times that the drive was switched on.
    unsafe_shutdowns: the number of times that the power failed without notice.
    controller_busy_seconds: the total time in which the controller processed commands.
    self_test: the last completed self-test.
    plp_healthy: True if the power-loss protection passes its own check.
    power_mode: the power mode in lower case: active, idle, standby, sleep, ...
    link_bytes_per_second: the current data rate of a SATA or SAS link, without encoding bits.
    link_max_bytes_per_second: the largest data rate that a SATA drive supports.
    attributes: the attribute table of an ATA drive.
    exit_status: the exit status of smartctl, a bit field.
    messages: the messages of smartctl, followed by the warnings of its drive database.
    unreadable: the reason why the drive answers but its SMART data cannot be read, as text for
        people. Empty if SMART data was read.
    rejected: the values that the drive reports but that are not used.
    sense_code: the additional sense code and its qualifier with which a SCSI drive reports an
        informational exception.
    logs: the content of the log pages of an NVMe drive beyond the SMART log.
    """

    healthy: bool | None = None
    endurance: Endurance | None = None
    spare_ratio: float | None = None
    spare_step_ratio: float = 0.0
    spare_threshold_ratio: float | None = None
    temperatures: Mapping[str, float] = field(default_factory=dict)
    temperature_warning_celsius: float | None = None
    temperature_critical_celsius: float | None = None
    over_temperature_warning_seconds: float | None = None
    over_temperature_critical_seconds: float | None = None
    critical_warnings: Mapping[str, bool] = field(default_factory=dict)
    host_read: WrittenBytes | None = None
    host_written: WrittenBytes | None = None
    nand_written: WrittenBytes | None = None
    media_errors: int | None = None
    corrected_errors: Mapping[str, int] = field(default_factory=dict)
    reallocated_sectors: int | None = None
    pending_sectors: int | None = None
    program_failures: int | None = None
    erase_failures: int | None = None
    interface_errors: int | None = None
    error_log_entries: int | None = None
    power_on_seconds: float | None = None
    power_cycles: int | None = None
    unsafe_shutdowns: int | None = None
    controller_busy_seconds: float | None = None
    self_test: SelfTest | None = None
    plp_healthy: bool | None = None
    power_mode: str | None = None
    link_bytes_per_second: float | None = None
    link_max_bytes_per_second: float | None = None
    attributes: tuple[AtaAttribute, ...] = ()
    exit_status: int = 0
    messages: tuple[str, ...] = ()
    unreadable: str = ""
    rejected: tuple[RejectedValue, ...] = ()
    sense_code: tuple[int, int] | None = None
    logs: "ParsedLogs | None" = None

    @property
    def invalid_log(self) -> str:
        """Why a log is invalid, as text for people; empty if all logs are valid."""
        invalid = (each for each in self.rejected if each.kind is RejectionKind.LOG_INVALID)
        return next((each.reason for each in invalid), "")


@dataclass(frozen=True, slots=True)
class DriveReport:
    """The content of one SMART report.

    faults: one text per field that could not be parsed.
    """

    identity: DriveIdentity
    health: DriveHealth
    faults: tuple[str, ...] = ()
