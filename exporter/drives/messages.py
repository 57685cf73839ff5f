"""What smartctl says of its own run: exit status, complaints, the mode that a drive rests in."""

import re
from collections.abc import Iterator, Mapping

from exporter.drives.fields import Fields

#: A drive that fails prints a handful; more would be noise.
_MOST_MESSAGES = 20
_MOST_OUTPUT_LINES = 4096

#: What `-n` prints before it leaves a drive asleep, as an information among the messages.
_ASLEEP = re.compile(r"Device is in (.{1,40}?) mode, exit\(\d{1,3}\)", re.ASCII)

#: What SCSI adds to a mode, how the drive came to it, and Linux's name for the same.
_MODE_ORIGIN = re.compile(r"_?( by (timer|command)| \(os\))?$")

#: The drive database's, which stands in no field of its own but in the text of `--json=o`.
_DATABASE_WARNING = "==> WARNING:"


def exit_status(fields: Fields) -> int:
    """The bit field of smartctl(8), RETURN VALUES; 0 where the report does not say."""
    return fields.integer("smartctl", "exit_status", most=255) or 0


def messages(fields: Fields) -> tuple[str, ...]:
    """Errors, warnings and information of this run, then the drive database's warning."""
    said = dict.fromkeys((*_messages(fields), *_predicted_failure(fields), *_warnings(fields)))
    return tuple(said)[:_MOST_MESSAGES]


def asleep(fields: Fields) -> str | None:
    """The power mode in which `-n standby` left the drive unasked; None for one that answered."""
    for message in _messages(fields):
        match = _ASLEEP.search(message)
        if match is not None:
            return _mode(match[1])
    return None


def power_mode(fields: Fields) -> str | None:
    """An object since smartctl 7.5, text in what others print of older ones."""
    nested = isinstance(fields.get("power_mode"), Mapping)
    name = fields.text("power_mode", "name") if nested else fields.text("power_mode")
    return None if name is None else _mode(name)


def _messages(fields: Fields) -> Iterator[str]:
    for row in fields.rows("smartctl", "messages", most=_MOST_MESSAGES):
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
