"""How worn an ATA drive is: by the standard's own figure, else by make, else by a name.

smartctl's own `endurance_used` is not taken for ATA: without device statistics it is 100 minus
the normalized value of whatever is called SSD_Life_Left or Wear_Leveling (7.5, ataprint.cpp),
which is wrong where that value is stuck at 100 and absent for most makes.
"""

import re
from collections.abc import Sequence

from exporter.drives.device_statistics import statistic
from exporter.drives.fields import Fields
from exporter.drives.health import AtaAttribute, DriveIdentity, Endurance, EnduranceSource
from exporter.drives.makes import make_of
from exporter.drives.wear_rules import Percent, stuck_left, wear

#: Solid state device statistics, percentage used endurance indicator: 0 to 255 (ACS-4, 9.5.8).
_PAGE, _OFFSET = 7, 8

_LIFE_LEFT = re.compile(r"life.*(remain|left)|(remain|left).*life|endurance.*remain", re.IGNORECASE)
_LIFE_USED = re.compile(r"(life|endurance).*used|used.*(life|endurance)", re.IGNORECASE)


def ata_endurance(
    fields: Fields, identity: DriveIdentity, attributes: Sequence[AtaAttribute]
) -> Endurance | None:
    """The best that the drive tells; None for what turns, and where nothing tells wear."""
    if identity.rotational:
        return None
    standard = statistic(fields, _PAGE, _OFFSET, most=255)
    if standard is not None:
        return Endurance(standard / 100, EnduranceSource.ATA_DEVSTAT)
    return family_endurance(identity, attributes)


def family_endurance(
    identity: DriveIdentity, attributes: Sequence[AtaAttribute]
) -> Endurance | None:
    """By the attribute table alone, for drives without device statistics and to check those.

    Of a make that we know no name is guessed at: some have nothing that tells wear.
    """
    if identity.rotational:
        return None
    make = make_of(identity)
    if make is None:
        return _endurance(_by_name(attributes), EnduranceSource.NAME_GUESS)
    rows = {attribute.id: attribute for attribute in attributes}
    return _endurance(wear(make, rows), EnduranceSource.FAMILY_RULE)


def _endurance(percent: Percent | None, source: EnduranceSource) -> Endurance | None:
    return None if percent is None else Endurance(percent[0] / 100, source, percent[1] / 100)


def _by_name(attributes: Sequence[AtaAttribute]) -> Percent | None:
    """Only names that speak of life: reserve blocks are used and left, too."""
    for attribute in attributes:
        if _LIFE_LEFT.search(attribute.name) and "0.01" not in attribute.name:
            guess = _left(attribute)
        elif _LIFE_USED.search(attribute.name):
            guess = None if attribute.raw > 100 else (float(attribute.raw), 1.0)
        else:
            continue
        if guess is not None:
            return guess
    return None


def _left(attribute: AtaAttribute) -> Percent | None:
    """None where the value may be stuck at 100, or raw be something else: nobody knows which."""
    if attribute.value == 100 and 1 <= attribute.raw < 100:
        return None
    return stuck_left(attribute, {})
