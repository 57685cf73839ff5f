"""Detects drives that run firmware with a known fatal defect.

`FIRMWARE_RULES` contains only defects that the vendor confirmed, or that the release notes of the
fixed firmware describe. A rule matches the model of the drive and only the firmware versions with
the defect. To extend the table, add a `FirmwareRule` with its source.
"""

import re
from dataclasses import dataclass

from exporter.drives.health import DriveHealth, DriveIdentity


@dataclass(frozen=True, slots=True)
class FirmwareIssue:
    """A known defect of the firmware that a drive runs.

    name: the name of the defect, as in `FIRMWARE_RULES`.
    advice: what to do, and what happens otherwise, as text for people.
    hours_left: the power-on hours until the defect occurs; 0 if that time has passed. None means
        that the defect does not depend on time, or that the drive does not report its power-on
        time.
    source: the publication that describes the defect.
    """

    name: str
    advice: str
    hours_left: float | None
    source: str


@dataclass(frozen=True, slots=True)
class FirmwareRule:
    """Describes one firmware defect and the drives that have it.

    name: a unique name of the defect.
    model: a regular expression that matches any part of the model.
    firmware: a regular expression that matches the whole version of the firmware with the defect.
    advice: what to do, and what happens otherwise, as text for people.
    source: the publication that describes the defect.
    defect_hours: the power-on time in hours at which the defect occurs. None means that the defect
        does not depend on time.
    """

    name: str
    model: str
    firmware: str
    advice: str
    source: str
    defect_hours: int | None = None


FIRMWARE_RULES: tuple[FirmwareRule, ...] = (
    FirmwareRule(
        name="hpe-sas-32768-hours",
        model=r"\b(VO(0480JFDGT|0960JFDGU|1920JFDGV|3840JFDHA|000480JWDAR|000960JWDAT|001920JWDAU"
        r"|003840JWDAV|007680JWCNK|015300JWCNL|015300JWSSV)|MO(0400JFFCF|0800JFFCH|1600JFFCK"
        r"|3200JFFCL)|VK(000960JWSSQ|001920JWSSR|003840JWSST|007680JWSSU))\b",
        firmware=r"HPD[0-7]",
        defect_hours=32_768,
        advice="install firmware HPD8 or later before 32,768 hours of power-on time: after that "
        "the drive fails and its data is lost, and other drives of the same age fail with it",
        source="HPE a00092491en_us",
    ),
    FirmwareRule(
        name="hpe-sas-40000-hours",
        model=r"\b(EK0800JVYPN|EO1600JVYPP|MK0800JVYPQ|MO1600JVYPR)\b",
        firmware=r"HPD[0-6]",
        defect_hours=40_000,
        advice="install firmware HPD7 or later before 40,000 hours of power-on time: after that "
        "the drive fails and its data is lost, and other drives of the same age fail with it",
        source="HPE a00097382en_us",
    ),
    FirmwareRule(
        name="sandisk-sas-40000-hours",
        model=r"\bLT(0[248]00MO|1600MO|0[248]00WM|0800RO|1600RO)\b",
        firmware=r"D(3\d\d|40\d|41[0-6])",
        defect_hours=40_000,
        advice="install Dell's firmware D417 or later before 40,000 hours of power-on time: after "
        "that the drive fails and its data is lost, and other drives of the same age fail with it",
        source="Dell's urgent release D417 for SanDisk SAS drives, February 2020",
    ),
    FirmwareRule(
        name="crucial-m4-5184-hours",
        model=r"^(M4-CT(032|064|128|256|512)M4SSD[123]|C400-MTFDDA[ACK](064|128|256|512)MAM)$",
        firmware=r"000[0-9]",
        defect_hours=5_184,
        advice="install firmware 0309 or later: after 5,184 hours of power-on time the drive hangs "
        "once an hour until it is power-cycled",
        source="Crucial m4 firmware 0309 release notes; a warning of drivedb",
    ),
    FirmwareRule(
        name="samsung-980-pro-read-only",
        model=r"\bSSD 980 PRO\b",
        firmware=r"3B2QGXA7",
        advice="install firmware 5B2QGXA7 or later: with 3B2QGXA7 the drive can enter "
        "read-only mode permanently",
        source="Samsung and Puget Systems, February 2023",
    ),
    FirmwareRule(
        name="samsung-990-pro-health",
        model=r"\bSSD 990 PRO\b",
        firmware=r"0B2QJXD7",
        advice="install firmware 1B2QJXD7 or later: with 0B2QJXD7 the reported health drops "
        "quickly; the update does not restore it",
        source="Samsung, February 2023",
    ),
)


def firmware_issues(identity: DriveIdentity, health: DriveHealth) -> tuple[FirmwareIssue, ...]:
    """Returns the known defects of the firmware that a drive runs.

    The result is empty if there is none, or if the model or the firmware version is unknown.
    """
    model, firmware = identity.model, identity.firmware
    if model is None or firmware is None:
        return ()
    return tuple(
        FirmwareIssue(rule.name, rule.advice, _hours_left(rule, health), rule.source)
        for rule in FIRMWARE_RULES
        if re.search(rule.model, model) and re.fullmatch(rule.firmware, firmware.strip())
    )


def _hours_left(rule: FirmwareRule, health: DriveHealth) -> float | None:
    if rule.defect_hours is None or health.power_on_seconds is None:
        return None
    return max(rule.defect_hours - health.power_on_seconds / 3600, 0.0)
