"""Records of a drive's identity and health, in one vocabulary for NVMe, ATA and SCSI.

None, or a missing key, means that the drive does not report the value. Absent is not zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Protocol(str, Enum):
    """The command set of the drive itself, not that of a bridge or controller in front of it."""

    NVME = "nvme"
    ATA = "ata"
    SCSI = "scsi"


@dataclass(frozen=True, slots=True)
class DriveIdentity:
    """The identity that a drive reports.

    family: the model family from smartctl's drive database. None for NVMe drives and for drives
        that the database does not list.
    wwn: in the notation of sysfs, such as naa.5002538e40a1b2c3 or eui.0025385b21404d22.
    capacity_bytes: the capacity of the whole drive, not of one namespace.
    rotational: False for an SSD.
    """

    protocol: Protocol | None = None
    model: str | None = None
    family: str | None = None
    serial: str | None = None
    firmware: str | None = None
    wwn: str | None = None
    capacity_bytes: int | None = None
    logical_block_bytes: int | None = None
    rotational: bool | None = None


class EnduranceSource(str, Enum):
    """The origin of a wear level, most reliable first."""

    NVME_LOG = "nvme_log"
    SCSI_LOG = "scsi_log"
    ATA_DEVSTAT = "ata_devstat"
    FAMILY_RULE = "family_rule"
    NAME_GUESS = "name_guess"


@dataclass(frozen=True, slots=True)
class Endurance:
    """The share of its rated endurance that a drive has used.

    used_ratio: 0 for a new drive, 1 at the rated end. It may exceed 1.
    step_ratio: the resolution of used_ratio; 0.01 for a drive that counts whole percents.
    """

    used_ratio: float
    source: EnduranceSource
    step_ratio: float = 0.01


class UnitSource(str, Enum):
    """The origin of the unit of a byte counter."""

    STANDARD = "standard"  # NVMe data units, ATA logical sectors, SCSI gigabytes processed
    FAMILY_RULE = "family_rule"  # a row of `written_table`
    NAME = "name"  # the name of the attribute contains it, as in Host_Writes_32MiB


@dataclass(frozen=True, slots=True)
class WrittenBytes:
    """A lifetime byte counter of a drive, read or written. The drive counts in `unit_bytes`."""

    bytes: int
    unit_bytes: int
    source: UnitSource


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The last completed self-test.

    completed_power_on_seconds: the power-on time of the drive when the test ended.
    """

    passed: bool
    completed_power_on_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class AtaAttribute:
    """One row of the ATA SMART attribute table.

    name: the name from smartctl's drive database.
    raw: the raw value as one number of 48 bits.
    raw_text: the raw value as smartctl formats it.
    value, worst, threshold: the normalized values. None if smartctl prints none.
    failed: when the value was at or below the threshold: "now", "past" or "" (never).
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


@dataclass(frozen=True, slots=True)
class DriveHealth:
    """The health values of one report, in base units.

    healthy: the drive's own assessment (ATA SMART status, NVMe critical warning, SCSI
        informational exceptions).
    spare_ratio: the share of reserve blocks that is left; 1 for a new drive.
    temperatures: °C by sensor. "drive" is the composite or only sensor; "1" to "8" are the
        additional sensors of an NVMe drive.
    critical_warnings: the bits of the NVMe critical warning by name; True if the bit is set.
    media_errors: uncorrectable errors of the medium.
    link_bytes_per_second, link_max_bytes_per_second: the line rate of SATA or SAS after
        encoding, as the drive reports it.
    power_mode: in lower case: active, idle, standby, sleep, ...
    plp_healthy: True if the power-loss protection passes its own check.
    exit_status: the exit status of smartctl, a bit field.
    messages: messages of smartctl, and warnings of its drive database.
    unreadable: why the drive answers but its SMART data cannot be read, as text for people.
        Empty if SMART data was read.
    """

    healthy: bool | None = None
    endurance: Endurance | None = None
    spare_ratio: float | None = None
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


@dataclass(frozen=True, slots=True)
class DriveReport:
    """The content of one SMART report. `faults` lists the fields that could not be parsed."""

    identity: DriveIdentity
    health: DriveHealth
    faults: tuple[str, ...] = ()
