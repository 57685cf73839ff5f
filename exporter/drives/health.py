"""What is known of a drive's health, in one vocabulary for NVMe, ATA and SCSI.

None, or a key that is missing, is "the drive does not say": absent is not zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Protocol(str, Enum):
    """What the drive itself speaks, whatever bridge or controller is in between."""

    NVME = "nvme"
    ATA = "ata"
    SCSI = "scsi"


@dataclass(frozen=True, slots=True)
class DriveIdentity:
    """Who a drive says it is.

    family: smartctl's drive database's; empty for NVMe and for drives that it does not know.
    wwn: as sysfs prints it: naa.5002538e40a1b2c3, eui.0025385b21404d22.
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
    """Where a wear level comes from, best first."""

    NVME_LOG = "nvme_log"
    SCSI_LOG = "scsi_log"
    ATA_DEVSTAT = "ata_devstat"
    FAMILY_RULE = "family_rule"
    NAME_GUESS = "name_guess"


@dataclass(frozen=True, slots=True)
class Endurance:
    """How much of its rated endurance a drive has used.

    used_ratio: may exceed 1.
    step_ratio: the resolution of used_ratio: 0.01 where the drive counts whole percents.
    """

    used_ratio: float
    source: EnduranceSource
    step_ratio: float = 0.01


class UnitSource(str, Enum):
    """Why the unit of a byte counter is believed."""

    STANDARD = "standard"  # NVMe data units, logical sectors, SCSI's gigabytes processed
    FAMILY_RULE = "family_rule"
    NAME = "name"  # the attribute's name says it: Host_Writes_32MiB


@dataclass(frozen=True, slots=True)
class WrittenBytes:
    """Bytes that a drive has counted over its life, and the step in which it counts."""

    bytes: int
    unit_bytes: int
    source: UnitSource


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The last self-test that ended. completed_power_on_seconds: the drive's age at its end."""

    passed: bool
    completed_power_on_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class AtaAttribute:
    """One row of the ATA SMART table; `raw` is the whole 48-bit number, `name` smartctl's.

    value, worst and threshold are as smartctl prints them; None where it has none.
    failed: "now", "past" or "".
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
    """One report's health, in base units.

    healthy: the drive's own verdict (SMART overall health, NVMe critical warning, SCSI IE).
    temperatures: by sensor, in °C; "drive" is the composite or only one, "1" to "8" NVMe's others.
    critical_warnings: NVMe's bits by name, each set or not.
    media_errors: uncorrectable errors of the medium.
    link_*: line rate after encoding of SATA, SAS or PCIe as the drive reports it.
    power_mode: ACTIVE, IDLE, STANDBY, SLEEP, ... in small letters.
    plp_healthy: the power-loss protection passes its own check.
    exit_status: smartctl's, a bit field.
    messages: what smartctl complained of, and drive-database warnings.
    unreadable: why SMART is not to be had though the drive answers, for people; else empty.
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
    """Who a drive is, how it fares, and which fields of the report were not understood."""

    identity: DriveIdentity
    health: DriveHealth
    faults: tuple[str, ...] = ()
