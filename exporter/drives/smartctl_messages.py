"""Parses smartctl's exit status and messages, and explains why SMART data cannot be read.

The explanation is a text for people that states the cause and the remedy. The power mode of the
drive is parsed here too, because smartctl reports it only in a message if the drive sleeps.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from exporter.drives.drive_identity import ATA_VENDOR, scsi_vendor
from exporter.drives.fields import Fields
from exporter.drives.health import DriveHealth, DriveIdentity, Protocol

#: The largest number of messages per report. A failing drive causes only a few messages.
_MAX_MESSAGES = 20
#: The largest number of lines of smartctl's text output that are searched. Valid output has a few
#: hundred.
_MAX_OUTPUT_LINES = 4096
#: The largest length of one warning of the drive database, in characters. A longer one is cut.
_MAX_WARNING_CHARACTERS = 256

#: The message that smartctl prints with `-n standby` if the drive sleeps and was not read.
_ASLEEP = re.compile(r"Device is in (.{1,40}?) mode, exit\(\d{1,3}\)", re.ASCII)

#: The end of the name of a power mode. It names the cause of the mode (a timer, a command or the
#: operating system), and is removed.
_MODE_SUFFIX = re.compile(r"_?( by (timer|command)| \(os\))?$")

#: The text at the start of a warning of the drive database. The JSON has no field for warnings, so
#: they are parsed from the text output that `--json=o` adds to the JSON.
_DATABASE_WARNING = "==> WARNING:"

_SET_TYPE = "set the type of this device in the configuration"
_PERMISSIONS = (
    "smartctl needs CAP_SYS_RAWIO for SATA and SAS drives, CAP_SYS_ADMIN for NVMe drives and RAID "
    "controllers, and access to the device node: run the agent as root, or grant these permissions"
)

#: Pairs of a regular expression for a message of smartctl, and the explanation of the message. The
#: first expression that matches any message is used.
_MEANINGS = (
    (
        r"Unable to detect device type",
        (
            "smartctl finds no drive behind this device: a virtual disk has no SMART data; "
            f"if it is a physical drive, {_SET_TYPE}"
        ),
    ),
    (
        r"Unknown USB bridge \[?(?P<what>0x[0-9a-f]{4}:0x[0-9a-f]{4})",
        (
            f"smartctl does not support the USB bridge {{what}} by default: {_SET_TYPE}: "
            "sat for a SATA drive; sntjmicron, sntasmedia or sntrealtek for an NVMe drive"
        ),
    ),
    (
        r"Unsupported USB bridge \[?(?P<what>0x[0-9a-f]{4}:0x[0-9a-f]{4})",
        "the USB bridge {what} does not pass SMART commands to the drive",
    ),
    (
        r"adding '-d (?P<what>[a-z0-9]{1,16}),N'",
        (
            "this device is a volume of a RAID controller: add each drive behind the controller "
            "to the configuration, with the type {what},N"
        ),
    ),
    (
        r"requires option '(-d )?(?P<what>[^']{1,40})'",
        f"this device is behind a RAID controller: {_SET_TYPE}: {{what}}",
    ),
    (
        r"unsupported scsi opcode",
        f"the device does not support the commands of this type: {_SET_TYPE} to another value",
    ),
    (r"Permission denied", _PERMISSIONS),
    (
        r"Operation not permitted",
        f"the device rejects the command: either its type is wrong, or {_PERMISSIONS}",
    ),
)


def parse_exit_status(fields: Fields) -> int:
    """Returns the exit status of smartctl, a bit field (smartctl(8), EXIT STATUS).

    0 if the report does not contain it.
    """
    return fields.integer("smartctl", "exit_status", maximum=255) or 0


def parse_messages(fields: Fields) -> tuple[str, ...]:
    """Returns the messages of smartctl, followed by the warnings of its drive database.

    At most 20 are returned, without duplicates. They include the text with which a SCSI drive
    predicts its failure.
    """
    messages = (*_messages(fields), *_predicted_failure(fields), *_database_warnings(fields))
    return tuple(dict.fromkeys(messages))[:_MAX_MESSAGES]


def parse_sleep_mode(fields: Fields) -> str | None:
    """Returns the power mode of a drive that smartctl did not read, because it sleeps.

    None if smartctl read the drive. smartctl skips sleeping drives if it has the option
    `-n standby`.
    """
    for message in _messages(fields):
        match = _ASLEEP.search(message)
        if match is not None:
            return _mode(match[1])
    return None


def parse_power_mode(fields: Fields) -> str | None:
    """Returns the power mode of the drive, such as "active" or "standby_y"; None if unknown.

    The field is an object since smartctl 7.5. In the output of older programs that call smartctl,
    it is a text.
    """
    is_object = isinstance(fields.get("power_mode"), Mapping)
    name = fields.text("power_mode", "name") if is_object else fields.text("power_mode")
    return None if name is None else _mode(name)


def unreadable_reason(
    fields: Fields,
    identity: DriveIdentity,
    health: DriveHealth,
    exit_status: int,
    messages: Sequence[str],
) -> str:
    """Returns the reason why SMART data cannot be read, with the remedy, as text for people.

    identity, health, exit_status, messages: the values that were parsed from the report.

    Empty if the report contains health values. Empty also if the report is empty.
    """
    if _is_ata_seen_as_scsi(fields, identity):
        return (
            "a SATA drive that answers as plain SCSI, without SMART data: smartctl needs "
            "CAP_SYS_RAWIO to send ATA commands to it; if it has that capability, "
            f"{_SET_TYPE}: sat"
        )
    if _has_health_values(health):
        return ""
    return (
        _meaning(messages)
        or _smart_support(fields, identity)
        or _failure(identity, exit_status, messages)
    )


def _messages(fields: Fields) -> Iterator[str]:
    for row in fields.rows("smartctl", "messages", maximum=_MAX_MESSAGES):
        text = row.text("string")
        if text is not None:
            yield text


def _predicted_failure(fields: Fields) -> Iterator[str]:
    """Yields the text with which a SCSI drive predicts its failure, if the report contains one."""
    reason = fields.text("smart_status", "scsi", "ie_string")
    if reason is not None:
        # smartctl 7.0 to 7.4 print it in capitals.
        yield reason.capitalize() if reason.isupper() else reason


def _database_warnings(fields: Fields) -> Iterator[str]:
    """Yields the warnings of the drive database, each as one line.

    In smartctl's text output, a warning has one or more lines and ends before an empty line.
    """
    lines = fields.get("smartctl", "output")
    parts: list[str] = []
    for line in lines[:_MAX_OUTPUT_LINES] if isinstance(lines, list) else ():
        text = line.strip() if isinstance(line, str) else ""
        if text.startswith(_DATABASE_WARNING):
            parts = [text.removeprefix("==> ")]
        elif parts and text:
            parts.append(text)
        elif parts:
            yield " ".join(parts)[:_MAX_WARNING_CHARACTERS]
            parts = []
    if parts:
        yield " ".join(parts)[:_MAX_WARNING_CHARACTERS]


def _mode(name: str) -> str:
    """Returns the short name of a power mode in lower case: standby_y for ``STANDBY_Y BY TIMER``.

    For the ATA mode "active or idle", which does not distinguish the two, the result is "active".
    """
    name = name.lower()
    if name == "active or idle":
        return "active"
    return _MODE_SUFFIX.sub("", name).replace(" ", "_")


def _has_health_values(health: DriveHealth) -> bool:
    """True if the report contains any of the health values that readable SMART data contains."""
    readings = (
        health.healthy,
        health.endurance,
        health.media_errors,
        health.reallocated_sectors,
        health.power_on_seconds,
    )
    has_reading = any(reading is not None for reading in readings)
    return has_reading or bool(health.temperatures) or bool(health.attributes)


def _is_ata_seen_as_scsi(fields: Fields, identity: DriveIdentity) -> bool:
    """True if smartctl sent SCSI commands to a SATA drive.

    Such a drive has the vendor "ATA". smartctl 7.3 and later omit the vendor and the product in
    this case, whereas a SAS drive always has both. So a drive without both, but with a serial
    number and without SMART, is a SATA drive too.
    """
    if identity.protocol is not Protocol.SCSI:
        return False
    has_no_name = identity.model is None and scsi_vendor(fields) is None
    has_no_smart = fields.flag("smart_support", "available") is False
    return scsi_vendor(fields) == ATA_VENDOR or (
        has_no_name and has_no_smart and identity.serial is not None
    )


def _meaning(messages: Sequence[str]) -> str:
    for pattern, meaning in _MEANINGS:
        for message in messages:
            match = re.search(pattern, message, re.ASCII)
            if match is not None:
                return meaning.format_map(match.groupdict())
    return ""


def _smart_support(fields: Fields, identity: DriveIdentity) -> str:
    """Returns an explanation if the drive reports that SMART is not supported or is disabled.

    Otherwise the result is empty.
    """
    if fields.flag("smart_support", "available") is False:
        if identity.protocol is Protocol.SCSI:
            return (
                "the drive reports that it does not support SMART; "
                f"if it is a SATA drive behind a bridge or controller, {_SET_TYPE}: sat"
            )
        return "the drive reports that it does not support SMART"
    if fields.flag("smart_support", "enabled") is False:
        return "SMART is disabled in this drive: enable it with `smartctl -s on DEVICE`"
    return ""


def _failure(identity: DriveIdentity, exit_status: int, messages: Sequence[str]) -> str:
    if messages:
        return f"smartctl reports: {messages[0]}"
    if identity == DriveIdentity() and not exit_status:
        return ""
    if exit_status & 0b10 and identity.model is not None:
        return (
            "the drive reports its identity and rejects all other commands; "
            "a drive that belongs to a RAID volume must be read through its controller"
        )
    if exit_status & 0b11:
        return "smartctl cannot open the device, or cannot read its identity"
    if exit_status & 0b100:
        return "the drive rejects the commands that read SMART data"
    return "the drive reports no health values"
