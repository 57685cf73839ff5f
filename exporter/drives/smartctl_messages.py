"""What smartctl says of its own run: exit status, complaints, the mode that a drive rests in.

Why SMART is not to be had from a drive, and what to do about it, for people.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from exporter.drives.drive_identity import ATA_VENDOR, scsi_vendor
from exporter.drives.fields import Fields
from exporter.drives.health import DriveHealth, DriveIdentity, Protocol

#: A drive that fails prints a handful; more would be noise.
_MOST_MESSAGES = 20
_MOST_OUTPUT_LINES = 4096

#: What `-n` prints before it leaves a drive asleep, as an information among the messages.
_ASLEEP = re.compile(r"Device is in (.{1,40}?) mode, exit\(\d{1,3}\)", re.ASCII)

#: What SCSI adds to a mode, how the drive came to it, and Linux's name for the same.
_MODE_ORIGIN = re.compile(r"_?( by (timer|command)| \(os\))?$")

#: The drive database's, which stands in no field of its own but in the text of `--json=o`.
_DATABASE_WARNING = "==> WARNING:"


def parse_exit_status(fields: Fields) -> int:
    """The bit field of smartctl(8), RETURN VALUES; 0 where the report does not say."""
    return fields.integer("smartctl", "exit_status", maximum=255) or 0


def parse_messages(fields: Fields) -> tuple[str, ...]:
    """Errors, warnings and information of this run, then the drive database's warning."""
    said = dict.fromkeys((*_messages(fields), *_predicted_failure(fields), *_warnings(fields)))
    return tuple(said)[:_MOST_MESSAGES]


def parse_sleep_mode(fields: Fields) -> str | None:
    """The power mode in which `-n standby` left the drive unasked; None for one that answered."""
    for message in _messages(fields):
        match = _ASLEEP.search(message)
        if match is not None:
            return _mode(match[1])
    return None


def parse_power_mode(fields: Fields) -> str | None:
    """An object since smartctl 7.5, text in what others print of older ones."""
    nested = isinstance(fields.get("power_mode"), Mapping)
    name = fields.text("power_mode", "name") if nested else fields.text("power_mode")
    return None if name is None else _mode(name)


def _messages(fields: Fields) -> Iterator[str]:
    for row in fields.rows("smartctl", "messages", maximum=_MOST_MESSAGES):
        text = row.text("string")
        if text is not None:
            yield text


def _predicted_failure(fields: Fields) -> Iterator[str]:
    """Why a SCSI drive predicts its failure: the sense code in words."""
    reason = fields.text("smart_status", "scsi", "ie_string")
    if reason is not None:
        yield reason


def _warnings(fields: Fields) -> Iterator[str]:
    """A warning runs over several lines, up to an empty one."""
    lines = fields.get("smartctl", "output")
    parts: list[str] = []
    for line in lines[:_MOST_OUTPUT_LINES] if isinstance(lines, list) else ():
        text = line.strip() if isinstance(line, str) else ""
        if text.startswith(_DATABASE_WARNING):
            parts = [text.removeprefix("==> ")]
        elif parts and text:
            parts.append(text)
        elif parts:
            yield " ".join(parts)[:256]
            parts = []
    if parts:
        yield " ".join(parts)[:256]


def _mode(name: str) -> str:
    """``STANDBY_Y BY TIMER`` as standby_y; ATA cannot tell active from idle, and says both."""
    name = name.lower()
    if name == "active or idle":
        return "active"
    return _MODE_ORIGIN.sub("", name).replace(" ", "_")


_SET_TYPE = "set the type of this device in the configuration"
_RIGHTS = (
    "smartctl needs CAP_SYS_RAWIO for SATA and SAS, CAP_SYS_ADMIN for NVMe and RAID controllers, "
    "and access to the device node: run the agent as root or grant them"
)

#: Of what smartctl complains, and what it means; the first that fits counts.
_MEANINGS = (
    (
        r"Unable to detect device type",
        (
            "smartctl finds no drive behind this device: a virtual disk has no SMART; "
            f"if there is a drive, {_SET_TYPE}"
        ),
    ),
    (
        r"Unknown USB bridge \[?(?P<what>0x[0-9a-f]{4}:0x[0-9a-f]{4})",
        (
            f"smartctl does not know the USB bridge {{what}}: {_SET_TYPE}, "
            "sat for a SATA drive, sntjmicron, sntasmedia or sntrealtek for an NVMe drive"
        ),
    ),
    (
        r"Unsupported USB bridge \[?(?P<what>0x[0-9a-f]{4}:0x[0-9a-f]{4})",
        "the USB bridge {what} passes no SMART commands on",
    ),
    (
        r"adding '-d (?P<what>[a-z0-9]{1,16}),N'",
        (
            "this is a volume of a RAID controller: name each drive behind it "
            "in the configuration, with the type {what},N"
        ),
    ),
    (
        r"requires option '(-d )?(?P<what>[^']{1,40})'",
        f"this device is behind a RAID controller: {_SET_TYPE}, {{what}}",
    ),
    (
        r"unsupported scsi opcode",
        f"the device does not understand the commands of this type: {_SET_TYPE} to another",
    ),
    (r"Permission denied", _RIGHTS),
    (
        r"Operation not permitted",
        f"the device refuses the command: it is of another type than was asked for, or {_RIGHTS}",
    ),
)


def unreadable_reason(
    fields: Fields,
    identity: DriveIdentity,
    health: DriveHealth,
    exit_status: int,
    messages: Sequence[str],
) -> str:
    """Empty where something of the drive's health is known, and where the report is empty."""
    if _is_ata_seen_as_scsi(fields, identity):
        return (
            "a SATA drive that answers as plain SCSI, without SMART: smartctl needs CAP_SYS_RAWIO "
            f"to speak ATA to it; if it has that, {_SET_TYPE}, sat"
        )
    if _tells(health):
        return ""
    return (
        _meaning(messages)
        or _support(fields, identity)
        or _failure(identity, exit_status, messages)
    )


def _tells(health: DriveHealth) -> bool:
    """Whether there is more than the drive's name and its link say."""
    readings = (
        health.healthy,
        health.endurance,
        health.media_errors,
        health.reallocated_sectors,
        health.power_on_seconds,
    )
    known = any(reading is not None for reading in readings)
    return known or bool(health.temperatures) or bool(health.attributes)


def _is_ata_seen_as_scsi(fields: Fields, identity: DriveIdentity) -> bool:
    """Since 7.3 smartctl leaves vendor and product out where the vendor is ATA; SAS says both."""
    if identity.protocol is not Protocol.SCSI:
        return False
    is_nameless = identity.model is None and scsi_vendor(fields) is None
    has_no_smart = fields.flag("smart_support", "available") is False
    return scsi_vendor(fields) == ATA_VENDOR or (
        is_nameless and has_no_smart and identity.serial is not None
    )


def _meaning(messages: Sequence[str]) -> str:
    for pattern, meaning in _MEANINGS:
        for message in messages:
            match = re.search(pattern, message, re.ASCII)
            if match is not None:
                return meaning.format_map(match.groupdict())
    return ""


def _support(fields: Fields, identity: DriveIdentity) -> str:
    """What the drive itself says of SMART."""
    if fields.flag("smart_support", "available") is False:
        if identity.protocol is Protocol.SCSI:
            return (
                "the drive says that it has no SMART; "
                f"if it is a SATA drive behind a bridge or controller, {_SET_TYPE}, sat"
            )
        return "the drive says that it has no SMART"
    if fields.flag("smart_support", "enabled") is False:
        return "SMART is switched off in this drive: switch it on with smartctl -s on DEVICE"
    return ""


def _failure(identity: DriveIdentity, exit_status: int, messages: Sequence[str]) -> str:
    if messages:
        return f"smartctl says: {messages[0]}"
    if identity == DriveIdentity() and not exit_status:
        return ""
    if exit_status & 0b10 and identity.model is not None:
        return (
            "the drive says who it is and refuses all else; "
            "a drive that belongs to a RAID volume is read through its controller"
        )
    if exit_status & 0b11:
        return "smartctl cannot open the device, or cannot read who it is"
    if exit_status & 0b100:
        return "the drive refuses the commands that read SMART"
    return "the drive says nothing of its health"
