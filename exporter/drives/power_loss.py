"""Whether an ATA drive's power-loss protection passes its own check."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from exporter.drives.health import AtaAttribute, DriveIdentity
from exporter.drives.makes import identify_make


@dataclass(frozen=True, slots=True)
class PowerLossRule:
    """reading: "threshold", "intel" or "charge". makes: enough where the name is not known."""

    attributes: tuple[int, ...]
    name: str
    reading: str
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

_RULED = frozenset(number for rule in POWER_LOSS_RULES for number in rule.attributes)

#: What Intel prints after a test that was too hot to count.
_TESTED_TOO_HOT = 11

_CHARGED = {0: False, 1: True}


def ata_power_loss(identity: DriveIdentity, attributes: Sequence[AtaAttribute]) -> bool | None:
    """False where the drive says that its capacitor failed; None where it says nothing of it.

    A threshold of 0 is none: any value is above it.
    """
    if identity.rotational:
        return None
    # Few drives have one of them, and every poll asks.
    ruled = [attribute for attribute in attributes if attribute.id in _RULED]
    make = identify_make(identity) if ruled else None
    verdicts = [
        verdict
        for rule in POWER_LOSS_RULES
        for attribute in ruled
        if _is_meant(rule, make, attribute)
        and (verdict := _verdict(rule.reading, attribute)) is not None
    ]
    return all(verdicts) if verdicts else None


def _is_meant(rule: PowerLossRule, make: str | None, attribute: AtaAttribute) -> bool:
    if attribute.id not in rule.attributes:
        return False
    if re.fullmatch(rule.name, attribute.name):
        return True
    # Old databases call 175 of newer Intels a count of failures; that has no threshold.
    is_checked = attribute.prefailure and bool(attribute.threshold)
    return make in rule.makes and is_checked and attribute.id == rule.attributes[0]


def _verdict(reading: str, attribute: AtaAttribute) -> bool | None:
    if reading == "charge":
        return _CHARGED.get(attribute.raw)
    if attribute.failed == "now":
        return False
    if not attribute.threshold or not attribute.value or attribute.value > 100:
        return None
    if reading == "intel" and attribute.value == _TESTED_TOO_HOT:
        return None
    return attribute.value > attribute.threshold
