"""Interprets the attributes that report whether the power-loss protection of an ATA drive works.

The power-loss protection is a capacitor. If the power fails, it supplies the drive until the cached
data is written to the flash.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from exporter.drives.health import AtaAttribute, DriveIdentity
from exporter.drives.makes import identify_makes

#: How the state of the capacitor follows from the attribute. "threshold": it is healthy if the
#: normalized value is above the threshold. "intel": the same, but the value 11 means unknown.
#: "charge": it is healthy if the raw value is 1, and has failed if the raw value is 0.
Reading: TypeAlias = Literal["threshold", "intel", "charge"]


@dataclass(frozen=True, slots=True)
class PowerLossRule:
    """Names an attribute that reports the state of the capacitor.

    attributes: the attribute ids that can have this meaning.
    name: a regular expression that matches the whole name of the attribute.
    reading: how the state follows from the attribute.
    source: the document, database or smartctl outputs that show this meaning.
    makes: on drives of these makes (see the module `makes`), an attribute with the first id may
        have another name. With another name, it must have the pre-failure type and a threshold.
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

#: The normalized value that Intel drives report if they were too hot for the test of the capacitor.
_TESTED_TOO_HOT = 11

#: For the reading "charge": whether the capacitor is healthy, keyed by the raw value. Other raw
#: values mean unknown.
_CHARGED = {0: False, 1: True}


def ata_power_loss(identity: DriveIdentity, attributes: Sequence[AtaAttribute]) -> bool | None:
    """True if the drive reports its capacitor as healthy, False if as failed.

    If several attributes report the state, the result is True only if all of them are healthy. An
    attribute with a threshold of 0 is ignored if its state follows from the threshold. None if the
    drive does not report the state, and for hard disks.
    """
    if identity.rotational:
        return None
    # Identifying the make takes time, and few drives have one of these attributes.
    ruled = [attribute for attribute in attributes if attribute.id in _RULED_ATTRIBUTES]
    makes = identify_makes(identity, [row.id for row in attributes]) if ruled else ()
    states = [
        is_healthy
        for rule in POWER_LOSS_RULES
        for attribute in ruled
        if _matches(rule, makes, attribute)
        and (is_healthy := _is_healthy(rule.reading, attribute)) is not None
    ]
    return all(states) if states else None


def _matches(rule: PowerLossRule, makes: Sequence[str], attribute: AtaAttribute) -> bool:
    if attribute.id not in rule.attributes:
        return False
    if re.fullmatch(rule.name, attribute.name):
        return True
    # Old databases give attribute 175 of newer Intel drives the name of a failure counter. It is
    # not a counter if it has a threshold.
    is_checked = attribute.prefailure and bool(attribute.threshold)
    return (
        not set(makes).isdisjoint(rule.makes) and is_checked and attribute.id == rule.attributes[0]
    )


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
