"""The table of what each file of the corpus says: expected.toml, with its defaults filled in."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: A figure of the table; "absent" where the drive says nothing, "any" where it is not compared.
Value: TypeAlias = bool | int | float | str | tuple[int, ...]
#: A file's fields, each with the values that are right: more than one where the file leaves room.
Expected: TypeAlias = Mapping[str, tuple[Value, ...]]

ABSENT = "absent"
ANY = "any"

#: The kinds of drive: sections of the table, folders of the corpus, and what the drives speak.
PROTOCOLS = ("nvme", "ata", "scsi")

#: Every field of a drive, and what it must be where its line does not name it.
_UNNAMED: dict[str, Value] = {
    **dict.fromkeys(("ssd", "wear", "healthy", "temp", "warn_at", "critical_at"), ABSENT),
    **dict.fromkeys(("spare", "warnings", "plp", "reallocated", "pending", "media"), ABSENT),
    **dict.fromkeys(("program", "erase", "crc", "errors", "seconds", "cycles", "unsafe"), ABSENT),
    **dict.fromkeys(("busy_minutes", "written", "read", "nand", "self_test"), ABSENT),
    "source": ABSENT,
    "threshold": ANY,  # of SATA drives it is a matter of taste which one is meant
    "unreadable": False,
    "sensors": (),
    "link": "-/-",
    "exit": 0,
}
#: What else a line may name: `hours`, which is `seconds` here, and `tolerance`.
_LINE_ONLY = {"hours", "tolerance"}


def table() -> dict[str, dict[str, Any]]:
    """expected.toml as it stands: {section: {name: line}}."""
    text = Path(__file__).with_name("expected.toml").read_text(encoding="utf-8")
    sections: dict[str, dict[str, Any]] = tomllib.loads(text)
    return sections


def files() -> set[str]:
    """Every file that the table knows, as "nvme/name.json"."""
    return {f"{section}/{name}.json" for section, lines in table().items() for name in lines}


def drives() -> dict[str, Expected]:
    """What is expected of every file that is a drive's report, every field of it."""
    return {
        f"{section}/{name}.json": filled(line)
        for section, lines in table().items()
        if section in PROTOCOLS
        for name, line in lines.items()
    }


def section(name: str) -> dict[str, dict[str, Any]]:
    """Another section's lines by file: of "error" or "scan"."""
    return {f"{name}/{file}.json": line for file, line in table()[name].items()}


def values(stated: Any) -> tuple[Value, ...]:
    """A field of a line as its alternatives; the reason after "absent:" is for people."""
    alternatives = stated if isinstance(stated, list) else [stated]
    return tuple(
        ABSENT if isinstance(value, str) and value.startswith("absent:") else value
        for value in alternatives
    )


def filled(line: Mapping[str, Any]) -> Expected:
    """A drive's line with every field.

    Raises:
        ValueError: it names a field that is none.
    """
    if unknown := line.keys() - _UNNAMED.keys() - _LINE_ONLY:
        raise ValueError(f"no such field: {', '.join(sorted(unknown))}")
    fields: dict[str, tuple[Value, ...]] = {
        field: values(line.get(field, unnamed)) for field, unnamed in _UNNAMED.items()
    }
    sensors: Sequence[int] = line.get("sensors", ())
    fields["sensors"] = (tuple(sensors),)
    if "hours" in line:
        fields["seconds"] = (_seconds(line["hours"]),)
    fields["tolerance"] = values(line.get("tolerance", 0))
    return fields


def _seconds(hours: int | str) -> int:
    """Of hours as a line has them: 37054, or "37054:12" where minutes are known."""
    whole, _, minutes = str(hours).partition(":")
    return int(whole) * 3600 + int(minutes or 0) * 60
