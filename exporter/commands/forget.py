"""``ssd-exporter forget SERIAL``: a drive that was taken out is missed no longer."""

from pathlib import Path
from typing import Any, TextIO

from exporter.errors import ConfigError
from exporter.smart import forgetting
from exporter.smart.inventory import Inventory
from exporter.state import StateFile


def run(name: str, directory: Path, kept_inventory: Any, out: TextIO) -> int:
    """Leave a request for the daemon in its state directory.

    name: a serial number, a WWN, or the label of a drive that has neither.

    Raises:
        ConfigError: the daemon knows no such drive, what it knows cannot be read, or the request
            cannot be left.
    """
    if kept_inventory is None and (problem := StateFile(directory).problem()):
        raise ConfigError(problem, "run this as root or as the daemon")
    inventory = Inventory(kept_inventory)
    known = inventory.named(name)
    if not known:
        missing = ", ".join(drive.names[0] for drive in inventory.missing) or "none"
        raise ConfigError(f"no drive {name!r} was ever seen here", f"missing are: {missing}")
    for drive in known:
        if not drive.missing:
            raise ConfigError(
                f"{drive.label} ({name}) is not missing", "take it out first: it would be back"
            )
    try:
        forgetting.request(directory, name)
    except OSError as e:
        raise ConfigError(
            f"{directory} cannot be written: {e.strerror}", "run this as root or as the daemon"
        ) from e
    for drive in known:
        out.write(
            f"{drive.label} ({drive.model or 'model unknown'}, {drive.names[0]}) will be forgotten"
            " as soon as the daemon has looked at its drives\n"
        )
    return 0
