"""Reads expected.toml, the table of the expected values of each file, and adds the defaults."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: A value of the table. "absent": the drive does not report it. "any": it is not compared.
Value: TypeAlias = bool | int | float | str | tuple[int, ...]
#: The fields of a file, each with all acceptable values.
Expected: TypeAlias = Mapping[str, tuple[Value, ...]]

ABSENT = "absent"
ANY = "any"

#: The protocols: sections of the table and folders of the corpus.
PROTOCOLS = ("nvme", "ata", "scsi")

#: Every field of a drive, with the expected value if its line does not contain the field.
_DEFAULTS: dict[str, Value] = {
    **dict.fromkeys(("ssd", "wear", "healthy", "temp", "warn_at", "critical_at"), ABSENT),
    **dict.fromkeys(("spare", "warnings", "plp", "reallocated", "pending", "media"), ABSENT),
    **dict.fromkeys(("program", "erase", "crc", "errors", "seconds", "cycles", "unsafe"), ABSENT),
    **dict.fromkeys(("busy_minutes", "written", "read", "nand", "self_test"), ABSENT),
    "source": ABSENT,
    "threshold": ANY,  # for SATA drives several attributes are plausible
    "unreadable": False,
    "sensors": (),
    "link": "-/-",
    "exit": 0,
}
#: Additional fields of a line: `hours`, which is converted to `seconds`, and `tolerance`.
_LINE_ONLY = {"hours", "tolerance"}


def table() -> dict[str, dict[str, Any]]:
    """The content of expected.toml: {section: {name: line}}."""
    text = Path(__file__).with_name("expected.toml").read_text(encoding="utf-8")
    sections: dict[str, dict[str, Any]] = tomllib.loads(text)
    return sections


def files() -> set[str]:
    """The names of all files in the table, such as "nvme/name.json"."""
    return {f"{section}/{name}.json" for section, lines in table().items() for name in lines}


def drives() -> dict[str, Expected]:
    """The expected values of every file that is the report of a drive."""
    return {
        f"{section}/{name}.json": complete_line(line)
        for section, lines in table().items()
        if section in PROTOCOLS
        for name, line in lines.items()
    }


def other_section(name: str) -> dict[str, dict[str, Any]]:
    """The lines of the section "error" or "scan", by file."""
    return {f"{name}/{file}.json": line for file, line in table()[name].items()}


def alternatives(stated: Any) -> tuple[Value, ...]:
    """The acceptable values of a field. The reason after "absent:" is removed."""
    alternatives = stated if isinstance(stated, list) else [stated]
    return tuple(
        ABSENT if isinstance(value, str) and value.startswith("absent:") else value
        for value in alternatives
    )


def complete_line(line: Mapping[str, Any]) -> Expected:
    """The line of a drive with all fields.

    Raises:
        ValueError: the line contains an unknown field.
    """
    if unknown := line.keys() - _DEFAULTS.keys() - _LINE_ONLY:
        raise ValueError(f"unknown field: {', '.join(sorted(unknown))}")
    fields: dict[str, tuple[Value, ...]] = {
        field: alternatives(line.get(field, default)) for field, default in _DEFAULTS.items()
    }
    sensors: Sequence[int] = line.get("sensors", ())
    fields["sensors"] = (tuple(sensors),)
    if "hours" in line:
        fields["seconds"] = (_seconds(line["hours"]),)
    fields["tolerance"] = alternatives(line.get("tolerance", 0))
    return fields


def _seconds(hours: int | str) -> int:
    """Converts 37054 (hours) or "37054:12" (hours and minutes) to seconds."""
    whole, _, minutes = str(hours).partition(":")
    return int(whole) * 3600 + int(minutes or 0) * 60
