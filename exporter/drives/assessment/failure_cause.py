"""Explains why a drive reports a failure, from its other values. Pure.

smartctl reports a drive as failed for any bit of the NVMe critical warning, for any attribute at
its threshold, and for any informational exception of SCSI. Some of these only mean that the rated
endurance is used up, or that the drive is hot. Others do not concern the flash. Alerts, `check`,
the pages and the journal use this module, so that all have the same severity.
"""

import re
from enum import Enum

from exporter.drives.health import AtaAttribute, DriveHealth


class FailureCause(str, Enum):
    """Why a drive reports a failure. The values are those of a label."""

    FAILING = "failing"  # the drive fails: a page
    WORN_OUT = "worn_out"  # its rated endurance is used up, and it has no errors: a ticket
    TEMPERATURE = "temperature"  # it is too hot or too cold: alerts on temperature cover it
    NO_FAILURE = "no_failure"  # the flag does not concern its data: neither a page nor a ticket


#: The bits of the NVMe critical warning that concern stored data. The others are the temperature,
#: the persistent memory region, which no filesystem uses, and the bits that NVMe Base 2.0 reserves.
_SERIOUS_BITS = frozenset({"spare", "reliability", "read_only", "volatile_backup"})

#: The smallest wear with which wear explains the NVMe bit "reliability". Drives set the bit at
#: 100 % (PM9A1, PM981; smartmontools issue 537).
_USED_UP_RATIO = 1.0
#: The smallest wear with which it explains an attribute of the wear that is at its threshold. The
#: thresholds of normalised values are 1 to 10 of 100.
_NEARLY_USED_UP_RATIO = 0.9

#: The smallest share of the spare blocks above the limit of the drive that still counts as full. A
#: drive that has lost more has defective blocks, and not only worn ones.
_MIN_SPARE_MARGIN = 0.5

#: The largest number of pending sectors without an unreadable sector: some Crucial drives report 1
#: for a short time (smartmontools ticket 1227).
_MAX_PENDING = 1

#: The names of ATA attributes that count down the rated endurance (names of smartctl's database).
#: Attributes of the spare blocks are not among them.
_WEAR_NAME = re.compile(
    r".*(Wear(?!_Range)|Endurance|Life_?(time)?_?(Left|Remain|Used)|Remaining_Life|Rated_Life"
    r"|End_of_Life|P/?E_Cycle|Erase_(Count|Cycle|Ct|Cnt)).*",
    re.IGNORECASE,
)
_NO_WEAR_NAME = re.compile(r"Fail|Error|Re?se?rve?d|Spare|Temp", re.IGNORECASE)
_TEMPERATURE_NAME = re.compile(r"Temp|Airflow", re.IGNORECASE)

#: Additional sense codes and qualifiers of SCSI (T10, asc-num.txt): the endurance limit of the
#: medium, and temperatures outside of their limits.
_SENSE_WORN_OUT = (0x5D, 0x73)
_SENSE_TEMPERATURE = frozenset((0x0B, qualifier) for qualifier in (0x01, 0x0A, 0x0B, 0x0C, 0x0D))
#: The codes that say nothing about the drive: a test of the reporting, the enclosure, an expected
#: loss of power, a notification of the device statistics, and the humidity.
_SENSE_NO_FAILURE = frozenset(
    {(0x5D, 0xFF), *((0x0B, code) for code in (0x02, 0x08, 0x09, 0x0E, 0x0F, 0x10, 0x11))}
)


def failure_cause(health: DriveHealth) -> FailureCause | None:
    """Returns why the drive reports a failure.

    None if the drive reports no failure or no assessment of its health. `FAILING` if the other
    values do not explain the failure.
    """
    bits = {name for name, is_set in health.critical_warnings.items() if is_set}
    if health.healthy is None or (health.healthy and not bits):
        return None
    if health.sense_code is not None:
        return _of_sense_code(health, health.sense_code)
    if bits:
        return _of_bits(health, bits)
    return _of_attributes(health)


def predicts_failure(health: DriveHealth) -> bool | None:
    """True if the drive reports that it is failing; None if it reports no assessment.

    A drive that reports only used-up endurance or a temperature is not failing.
    """
    if health.healthy is None:
        return None
    return failure_cause(health) is FailureCause.FAILING


def worn_out_text(health: DriveHealth) -> str:
    """Returns what a worn-out drive reports, as text for people. "its" refers to the drive."""
    used, spare = health.endurance, health.spare_ratio
    share = "" if used is None else f" ({used.used_ratio * 100:.0f} % used)"
    rest = [f"spare {spare * 100:.0f} %"] if spare is not None else []
    rest += ["no media errors"] if health.media_errors == 0 else []
    facts = f": {', '.join(rest)}" if rest else ""
    return f"its rated endurance is used up{share}{facts}"


def is_wear(attribute: AtaAttribute) -> bool:
    """True if the name of the attribute means endurance or erase cycles."""
    named = _WEAR_NAME.fullmatch(attribute.name) is not None
    return named and _NO_WEAR_NAME.search(attribute.name) is None


def is_temperature(attribute: AtaAttribute) -> bool:
    """True if the name of the attribute means a temperature."""
    return _TEMPERATURE_NAME.search(attribute.name) is not None


def has_errors(health: DriveHealth) -> bool:
    """True if a value shows damage that wear does not explain."""
    spare, limit = health.spare_ratio, health.spare_threshold_ratio or 0.0
    lost_spare = (
        spare is not None and limit < 1 and (spare - limit) / (1 - limit) < _MIN_SPARE_MARGIN
    )
    return bool(
        health.media_errors
        or (health.pending_sectors or 0) > _MAX_PENDING
        or (health.self_test is not None and not health.self_test.passed)
        or health.plp_healthy is False
        or lost_spare
    )


def _of_sense_code(health: DriveHealth, code: tuple[int, int]) -> FailureCause:
    if code == _SENSE_WORN_OUT and not has_errors(health):
        return FailureCause.WORN_OUT
    if code in _SENSE_TEMPERATURE:
        return FailureCause.TEMPERATURE
    return FailureCause.NO_FAILURE if code in _SENSE_NO_FAILURE else FailureCause.FAILING


def _of_bits(health: DriveHealth, bits: set[str]) -> FailureCause:
    serious = bits & _SERIOUS_BITS
    if not serious:
        return FailureCause.TEMPERATURE if "temperature" in bits else FailureCause.NO_FAILURE
    used = health.endurance
    explained = (
        serious == {"reliability"}
        and used is not None
        and used.used_ratio >= _USED_UP_RATIO
        # A value that is not reported does not rule out damage.
        and health.spare_ratio is not None
        and health.media_errors is not None
        and not has_errors(health)
    )
    return FailureCause.WORN_OUT if explained else FailureCause.FAILING


def _of_attributes(health: DriveHealth) -> FailureCause:
    """Returns the cause if the only explanation can be the attributes at their threshold."""
    failed = [row for row in health.attributes if row.failed == "now"]
    # An unnamed attribute without the flag does not change the status. It often repeats the wear.
    others = [
        row
        for row in failed
        if not is_temperature(row) and (row.prefailure or not row.name.startswith("Unknown_"))
    ]
    if failed and all(map(is_temperature, failed)):
        return FailureCause.TEMPERATURE
    used = health.endurance
    explained = (
        others
        and all(map(is_wear, others))
        and (used is None or used.used_ratio >= _NEARLY_USED_UP_RATIO)
        and not has_errors(health)
    )
    return FailureCause.WORN_OUT if explained else FailureCause.FAILING
