"""Parses the identity of a drive (model, serial number, WWN, capacity), and compares identities.

The WWN (world wide name) is returned in the notation of sysfs, so that it can be compared with the
WWN that the kernel reports. `is_same_identity` and `identity_keys` define, for all parts of the
exporter, which reports belong to one drive.

The agent imports this module. It does not import `health`, which takes 150 KB of its memory.
"""

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol as Interface
from typing import TypeVar

from exporter.drives.fields import Fields, counter


class Protocol(str, Enum):
    """The command set of a drive.

    This is never the command set of a bridge or controller between the host and the drive.
    """

    NVME = "nvme"
    ATA = "ata"
    SCSI = "scsi"


@dataclass(frozen=True, slots=True)
class DriveIdentity:
    """The identity that a drive reports. None means that the drive does not report the value.

    protocol: the command set of the drive.
    model: the name of the model.
    family: the model family from smartctl's drive database. None for NVMe drives and for drives
        that the database does not list.
    serial: the serial number.
    firmware: the firmware version.
    wwn: the world wide name in the notation of sysfs, such as naa.5002538e40a1b2c3 or
        eui.0025385b21404d22.
    capacity_bytes: the capacity of the whole drive, not of one namespace.
    logical_block_bytes: the size of a logical block in bytes.
    rotational: True for a hard disk, False for an SSD.
    physical_block_bytes: the size of a physical block in bytes.
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
    physical_block_bytes: int | None = None


#: The vendor that a SAT layer reports for an ATA drive (SAT, INQUIRY data).
ATA_VENDOR = "ATA"

_PROTOCOLS = {"nvme": Protocol.NVME, "ata": Protocol.ATA, "scsi": Protocol.SCSI}

#: The protocol of each field that only one protocol has. These fields identify the protocol if
#: smartctl does not report it.
_PROTOCOL_OF_FIELD = {
    "nvme_smart_health_information_log": Protocol.NVME,
    "nvme_version": Protocol.NVME,
    "ata_smart_attributes": Protocol.ATA,
    "ata_smart_data": Protocol.ATA,
    "ata_version": Protocol.ATA,
    "scsi_error_counter_log": Protocol.SCSI,
    "scsi_grown_defect_list": Protocol.SCSI,
    "scsi_version": Protocol.SCSI,
}

#: The largest valid size of a block, in bytes. Real blocks have at most 64 KiB.
_MAX_BLOCK_BYTES = 1 << 30

_LOGICAL_UNIT = re.compile(r"0x((?:[0-9a-f]{16}|[0-9a-f]{24}|[0-9a-f]{32}))", re.IGNORECASE)

#: The possible first digits of an NAA designator, keyed by its number of digits. The first digit is
#: the format: formats 2, 3 and 5 have 16 digits, format 6 has 32 (SPC).
_NAA_FORMATS = {16: "235", 32: "6"}


class Named(Interface):
    """The names that identify a drive. None means unknown."""

    @property
    def model(self) -> str | None:
        """The name of the model."""

    @property
    def serial(self) -> str | None:
        """The serial number."""

    @property
    def wwn(self) -> str | None:
        """The world wide name."""


_Place = TypeVar("_Place", bound=Hashable)


def usable_wwn(wwn: str | None) -> str | None:
    """Returns a WWN in lower case; None if it is missing or a placeholder.

    In a placeholder, all digits after the first one are equal, as in naa.5000000000000000.
    """
    text = (wwn or "").strip().lower()
    digits = text.rpartition(".")[2]
    # The first digit is not compared: in "naa." names it is the format of the name.
    return text if len(set(digits[1:])) > 1 else None


def is_same_identity(one: Named, other: Named) -> bool:
    """True if two identities belong to one drive. False if one of them is empty.

    Different serial numbers mean two drives, even if the WWN is equal: some makers give all drives
    of a batch one WWN. Otherwise the WWNs are compared. If one of them is missing, the models and
    serial numbers are compared.
    """
    wwns = usable_wwn(one.wwn), usable_wwn(other.wwn)
    if None not in wwns:
        return wwns[0] == wwns[1] and not serials_differ(one, other)
    if one.model and other.model and one.model != other.model:
        return False
    return bool(one.serial and one.serial == other.serial)


def serials_differ(one: Named, other: Named) -> bool:
    """True if both serial numbers are known and belong to two drives.

    Some controllers shorten the serial number. So two serial numbers belong to one drive if one is
    the beginning of the other.
    """
    a, b = one.serial, other.serial
    return bool(a and b) and not ((a or "").startswith(b or "") or (b or "").startswith(a or ""))


def identity_key(drive: Named) -> str | None:
    """Returns the shortest key of a drive; None if it reports too little.

    The key is the WWN. Without a usable WWN it is the model and the serial number. Several drives
    can have one such key: see `identity_keys`.
    """
    if drive.wwn and usable_wwn(drive.wwn):
        return drive.wwn.strip()
    return f"{drive.model or ''} {drive.serial}" if drive.serial else None


def identity_keys(drives: Mapping[_Place, Named]) -> dict[_Place, str]:
    """Returns the key of each drive of a host, keyed like `drives`.

    It is `identity_key`, followed by the serial number if another drive has the same key and
    another serial number. A drive that reports too little has no key.
    """
    keys = {place: key for place, drive in drives.items() if (key := identity_key(drive))}
    serials: dict[str, set[str]] = {}
    for place, key in keys.items():
        serials.setdefault(key, set()).add(drives[place].serial or "")
    return {
        place: f"{key} {drives[place].serial}"
        if len(serials[key]) > 1 and drives[place].serial
        else key
        for place, key in keys.items()
    }


def identify(fields: Fields) -> DriveIdentity:
    """Returns the identity of a drive. `fields` is the smartctl report.

    A value that the report does not contain is None in the result.
    """
    protocol = _protocol(fields)
    return DriveIdentity(
        protocol=protocol,
        model=_model(fields),
        family=fields.text("model_family"),
        serial=_serial(fields),
        firmware=_first_text(fields, "firmware_version", "scsi_revision", "revision"),
        wwn=_wwn(fields),
        capacity_bytes=_capacity_bytes(fields, protocol),
        logical_block_bytes=_logical_block_bytes(fields),
        rotational=_rotational(fields, protocol),
        physical_block_bytes=fields.integer("physical_block_size", maximum=_MAX_BLOCK_BYTES)
        or None,
    )


def scsi_vendor(fields: Fields) -> str | None:
    """Returns the T10 vendor identification of a SCSI drive; None if the report has none.

    smartctl before 7.3 names the field `vendor`, later versions name it `scsi_vendor`.
    """
    return _first_text(fields, "scsi_vendor", "vendor")


def _protocol(fields: Fields) -> Protocol | None:
    name = fields.text("device", "protocol")
    if name is not None and name.lower() in _PROTOCOLS:
        return _PROTOCOLS[name.lower()]
    return next(
        (
            protocol
            for field, protocol in _PROTOCOL_OF_FIELD.items()
            if fields.get(field) is not None
        ),
        None,
    )


def _first_text(fields: Fields, *keys: str) -> str | None:
    return next((text for key in keys if (text := fields.text(key)) is not None), None)


def _model(fields: Fields) -> str | None:
    vendor = scsi_vendor(fields)
    product = _first_text(fields, "scsi_product", "product")
    if vendor == ATA_VENDOR and product is not None:
        return product
    model = _first_text(fields, "model_name", "scsi_model_name")
    return model or " ".join(part for part in (vendor, product) if part) or None


def _serial(fields: Fields) -> str | None:
    """Returns the serial number. None if there is none.

    A drive without a serial number may report a text that contains only zeros and punctuation.
    """
    serial = fields.text("serial_number")
    return serial if serial and re.search(r"[1-9A-Za-z]", serial) else None


def _wwn(fields: Fields) -> str | None:
    return _ata_wwn(fields) or _scsi_wwn(fields) or _nvme_wwn(fields)


def _ata_wwn(fields: Fields) -> str | None:
    """Returns the WWN of an ATA drive (IDENTIFY DEVICE, words 108 to 111); None if it has none."""
    naa = fields.integer("wwn", "naa", maximum=0xF)
    oui = fields.integer("wwn", "oui", maximum=(1 << 24) - 1)
    unique = fields.integer("wwn", "id", maximum=(1 << 36) - 1)
    if naa is None or oui is None or unique is None or not oui + unique:
        return None
    return f"naa.{naa:x}{oui:06x}{unique:09x}"


def _scsi_wwn(fields: Fields) -> str | None:
    """Returns the WWN of a SCSI drive: the designator of its logical unit; None if it has none.

    smartctl prints the digits of the designator but not its type (NAA or EUI-64). The type follows
    from the number of digits and the first digit.
    """
    match = _LOGICAL_UNIT.fullmatch(fields.text("logical_unit_id") or "")
    if match is None or not match[1].strip("0"):
        return None
    digits = match[1].lower()
    kind = "naa" if digits[0] in _NAA_FORMATS.get(len(digits), "") else "eui"
    return f"{kind}.{digits}"


def _nvme_wwn(fields: Fields) -> str | None:
    """Returns the EUI-64 of the namespace that has the lowest number; None if there is none.

    A namespace can have an NGUID or a UUID instead, but smartctl does not print them.
    """
    names = []
    for namespace in fields.rows("nvme_namespaces"):
        oui = namespace.integer("eui64", "oui", maximum=(1 << 24) - 1)
        extension = namespace.integer("eui64", "ext_id", maximum=(1 << 40) - 1)
        if oui is not None and extension is not None and oui + extension:
            number = namespace.integer("id", maximum=(1 << 32) - 1)
            names.append((1 << 32 if number is None else number, oui, extension))
    if not names:
        return None
    _, oui, extension = min(names)
    return f"eui.{oui:06x}{extension:010x}"


def _capacity_bytes(fields: Fields, protocol: Protocol | None) -> int | None:
    """Returns the capacity of the whole drive in bytes; None if unknown.

    For an NVMe drive, `user_capacity` is the size of one namespace. It is used only if the report
    does not contain the total capacity.
    """
    user = counter(fields, "user_capacity", "bytes") or None
    if protocol is Protocol.NVME:
        return counter(fields, "nvme_total_capacity") or user
    return user


def _logical_block_bytes(fields: Fields) -> int | None:
    block = fields.integer("logical_block_size", maximum=_MAX_BLOCK_BYTES)
    if not block and fields.get("nvme_namespaces") is not None:
        block = fields.integer("nvme_namespaces", 0, "formatted_lba_size", maximum=_MAX_BLOCK_BYTES)
    return block or None


def _rotational(fields: Fields, protocol: Protocol | None) -> bool | None:
    rate = fields.integer("rotation_rate", maximum=1_000_000)
    if protocol is Protocol.NVME:
        return False
    # In ACS and SBC the value 1 means "non-rotating"; smartctl prints 0 for it.
    return None if rate is None else rate > 1
