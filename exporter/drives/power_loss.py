"""Interprets the attributes that report whether an ATA drive's power-loss protection works."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from exporter.drives.health import AtaAttribute, DriveIdentity
from exporter.drives.makes import identify_make

#: How the attribute is read. "threshold": healthy while the normalized value is above the
#: threshold. "intel": the same, except for the value 11. "charge": the raw value is 1 if charged.
Reading: TypeAlias = Literal["threshold", "intel", "charge"]


@dataclass(frozen=True, slots=True)
class PowerLossRule:
    """An attribute that reports the state of the capacitor.

    attributes: ids that may have this meaning.
    name: a regular expression that matches the whole name of the attribute.
    makes: on drives of these makes, the first id matches without the name if the attribute is
        of the pre-failure type and has a threshold.
    reading: how the state follows from the attribute.
    source: the document, database or captures that show this meaning.
    """

    attributes: tuple[int, ...]
    name: str
    reading: Reading
    source: str
    makes: tuple[str, ...] = ()


POWER_LOSS_RULES: tuple[PowerLossRule, ...] = (
    PowerLossRule(
        (175, 235, 201),
        r"Power_Loss_Cap_Test",
        "intel",
        "Intel DC S3500 and S4500 specifications, AFh; drivedb; 20 captures",
        makes=("intel",),
    ),
    PowerLossRule((235, 237), r"PLP_(Mirror_)?Tests_Min_Us", "intel", "drivedb, Lenovo's D3-S4510"),
    PowerLossRule((201,), r"Supercap_Status", "threshold", "drivedb, Samsung"),
    PowerLossRule((235,), r"SuperCap_Health|Capacitor_Health", "threshold", "drivedb, SandForce"),
    PowerLossRule((175,), r"Capacitor_Life", "threshold", "drivedb, XITC"),
    PowerLossRule((175,), r"PwrLoss_ProtectionFail", "threshold", "drivedb, SanDisk CS1K"),
    PowerLossRule((175, 229), r"PLP_Failure", "threshold", "drivedb, SSSTC"),
    PowerLossRule((195,), r"Power_Fail_Health", "threshold", "drivedb, Kingston DC500"),
    PowerLossRule((230,), r"SuperCap_Charge_Status", "charge", "drivedb, OCZ Intrepid: 0, 1, 2"),
)

_RULED_ATTRIBUTES = frozenset(number for rule in POWER_LOSS_RULES for number in rule.attributes)

#: Intel drives report this value if the drive was too hot for the test.
_TESTED_TOO_HOT = 11

#: Healthy by raw value for the reading "charge". Any other value is unknown.
_CHARGED = {0: False, 1: True}


def ata_power_loss(identity: DriveIdentity, attributes: Sequence[AtaAttribute]) -> bool | None:
    """True if the drive reports that its capacitor is healthy, False if it failed.

    None if the drive does not report the state, and for hard disks. An attribute with threshold
    0 is ignored, because every value is above it.
    """
    if identity.rotational:
        return None
    # Few drives have one of these attributes, so the make is identified only if needed.
    ruled = [attribute for attribute in attributes if attribute.id in _RULED_ATTRIBUTES]
    make = identify_make(identity) if ruled else None
    states = [
        is_healthy
        for rule in POWER_LOSS_RULES
        for attribute in ruled
        if _matches(rule, make, attribute)
        and (is_healthy := _is_healthy(rule.reading, attribute)) is not None
    ]
    return all(states) if states else None


def _matches(rule: PowerLossRule, make: str | None, attribute: AtaAttribute) -> bool:
    if attribute.id not in rule.attributes:
        return False
    if re.fullmatch(rule.name, attribute.name):
        return True
    # Old databases name attribute 175 of newer Intel drives as a failure counter. A counter has
    # no threshold.
    is_checked = attribute.prefailure and bool(attribute.threshold)
    return make in rule.makes and is_checked and attribute.id == rule.attributes[0]


def _is_healthy(reading: Reading, attribute: AtaAttribute) -> bool | None:
    if reading == "charge":
        return _CHARGED.get(attribute.raw)
    if attribute.failed == "now":
        return False
    if not attribute.threshold or not attribute.value or attribute.value > 100:
        return None
    if reading == "intel" and attribute.value == _TESTED_TOO_HOT:
        return None
    return attribute.value > attribute.threshold
