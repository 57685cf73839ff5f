"""Firmware that is known to lose data or drives: which drives have it, and how long they have.

Only what a vendor has admitted, or what the fix's own notes say; the model and the exact releases
decide, so a drive with the fix yields nothing.
"""

import re
from dataclasses import dataclass

from exporter.drives.health import DriveHealth, DriveIdentity


@dataclass(frozen=True, slots=True)
class FirmwareIssue:
    """A known fault of the firmware that a drive runs.

    hours_left: of power-on time until it strikes, 0 where it is due; None where it has no hour
    or the drive tells no age.
    """

    name: str
    advice: str
    hours_left: float | None
    source: str


@dataclass(frozen=True, slots=True)
class FirmwareRule:
    """name, advice and source as in `FirmwareIssue`; strikes_hours: the power-on time it waits.

    model is searched for, firmware must match whole: the releases that have the fault.
    """

    name: str
    model: str
    firmware: str
    advice: str
    source: str
    strikes_hours: int | None = None


FIRMWARE_RULES: tuple[FirmwareRule, ...] = (
    FirmwareRule(
        name="hpe-sas-32768-hours",
        model=r"\b(VO(0480JFDGT|0960JFDGU|1920JFDGV|3840JFDHA|000480JWDAR|000960JWDAT|001920JWDAU"
        r"|003840JWDAV|007680JWCNK|015300JWCNL|015300JWSSV)|MO(0400JFFCF|0800JFFCH|1600JFFCK"
        r"|3200JFFCL)|VK(000960JWSSQ|001920JWSSR|003840JWSST|007680JWSSU))\b",
        firmware=r"HPD[0-7]",
        strikes_hours=32_768,
        advice="install firmware HPD8 or later before 32,768 hours of power-on time: then the "
        "drive and its data are lost, and those of its age with it",
        source="HPE a00092491en_us",
    ),
    FirmwareRule(
        name="hpe-sas-40000-hours",
        model=r"\b(EK0800JVYPN|EO1600JVYPP|MK0800JVYPQ|MO1600JVYPR)\b",
        firmware=r"HPD[0-6]",
        strikes_hours=40_000,
        advice="install firmware HPD7 or later before 40,000 hours of power-on time: then the "
        "drive and its data are lost, and those of its age with it",
        source="HPE a00097382en_us",
    ),
    FirmwareRule(
        name="sandisk-sas-40000-hours",
        model=r"\bLT(0[248]00MO|1600MO|0[248]00WM|0800RO|1600RO)\b",
        firmware=r"D(3\d\d|40\d|41[0-6])",
        strikes_hours=40_000,
        advice="install Dell's firmware D417 or later before 40,000 hours of power-on time: then "
        "the drive and its data are lost, and those of its age with it",
        source="Dell's urgent release D417 for SanDisk SAS drives, February 2020",
    ),
    FirmwareRule(
        name="crucial-m4-5184-hours",
        model=r"^(M4-CT(032|064|128|256|512)M4SSD[123]|C400-MTFDDA[ACK](064|128|256|512)MAM)$",
        firmware=r"000[0-9]",
        strikes_hours=5_184,
        advice="install firmware 0309 or later: from 5,184 hours of power-on time on the drive "
        "hangs every hour until it is powered off",
        source="Crucial m4 firmware 0309 release notes; a warning of drivedb",
    ),
    FirmwareRule(
        name="samsung-980-pro-read-only",
        model=r"\bSSD 980 PRO\b",
        firmware=r"3B2QGXA7",
        advice="install firmware 5B2QGXA7 or later: this one fails into read-only mode, from "
        "which there is no way back",
        source="Samsung and Puget Systems, February 2023",
    ),
    FirmwareRule(
        name="samsung-990-pro-health",
        model=r"\bSSD 990 PRO\b",
        firmware=r"0B2QJXD7",
        advice="install firmware 1B2QJXD7 or later: under this one the drive's health falls "
        "fast; what is lost does not come back",
        source="Samsung, February 2023",
    ),
)


def firmware_issues(identity: DriveIdentity, health: DriveHealth) -> tuple[FirmwareIssue, ...]:
    """The known faults of the firmware that this drive runs; nothing where it tells no release."""
    model, firmware = identity.model, identity.firmware
    if model is None or firmware is None:
        return ()
    return tuple(
        FirmwareIssue(rule.name, rule.advice, _hours_left(rule, health), rule.source)
        for rule in FIRMWARE_RULES
        if re.search(rule.model, model) and re.fullmatch(rule.firmware, firmware.strip())
    )


def _hours_left(rule: FirmwareRule, health: DriveHealth) -> float | None:
    if rule.strikes_hours is None or health.power_on_seconds is None:
        return None
    return max(rule.strikes_hours - health.power_on_seconds / 3600, 0.0)
