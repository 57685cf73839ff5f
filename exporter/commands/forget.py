"""``ssd-exporter forget SERIAL``: tells the daemon not to report a removed drive as missing.

The daemon keeps an inventory, which is the list of all drives that it ever saw. The command
requests that the daemon removes the drive from this list.
"""

import argparse
import sys
from pathlib import Path
from typing import Any, TextIO

from exporter.commands.common import required_state_directory
from exporter.commands.registry import Command
from exporter.config.settings import Settings
from exporter.runtime.errors import ConfigError
from exporter.runtime.printable import printable
from exporter.runtime.privileges import as_owner
from exporter.runtime.state import StateFile
from exporter.smart import forgetting
from exporter.smart.inventory import Inventory


def run(name: str, directory: Path, kept_inventory: Any, out: TextIO) -> int:
    """Writes a request to the daemon's state directory and prints it. Returns the exit status 0.

    name: a serial number, a WWN, or the label of a drive that has neither.
    directory: the state directory of the daemon.
    kept_inventory: the inventory from the daemon's state file, as JSON values; None if the file has
        none.

    Raises:
        ConfigError: the drive is unknown or not missing, the inventory cannot be read, or the
            request cannot be written.
    """
    if kept_inventory is None and (problem := StateFile(directory).problem()):
        raise ConfigError(problem, "run this command as root or as the daemon's user")
    inventory = Inventory(kept_inventory)
    known = inventory.named(name)
    if not known:
        names = ", ".join(drive.names[0] for drive in inventory.missing) or "none"
        raise ConfigError(
            f"no drive named {name!r} is known on this host", f"missing drives: {names}"
        )
    # Drives can share a WWN or a serial number: the request then is for those that are missing.
    missing = [drive for drive in known if drive.missing]
    if not missing:
        raise ConfigError(
            f"{known[0].label} ({name}) is not missing",
            "remove the drive first: a drive that is present would be added again",
        )
    try:
        with as_owner(directory):
            forgetting.request(directory, name)
    except OSError as e:
        raise ConfigError(
            f"{directory} is not writable: {e.strerror}",
            "run this command as root or as the daemon's user",
        ) from e
    for drive in missing:
        words = (
            f"the daemon will forget {drive.label} ({drive.model or 'model unknown'},"
            f" {drive.names[0]}) when it next updates its list of drives"
        )
        out.write(f"{printable(words)}\n")
    return 0


def _add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument("serial", metavar="SERIAL", help="serial number or WWN of the drive")


def _run(settings: Settings, arguments: argparse.Namespace) -> int:
    directory = required_state_directory(settings)
    kept = StateFile(directory).load_read_only()
    return run(arguments.serial, directory, kept.get("inventory"), sys.stdout)


COMMAND = Command(
    "Tell the daemon that a drive was removed permanently. Until then the daemon reports the drive"
    " as missing.",
    _add_arguments,
    _run,
)
