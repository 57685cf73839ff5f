"""``ssd-exporter merge-wear``: merges wear histories that were set aside into the one in use.

The daemon sets its wear history aside if it cannot use it, for example after a downgrade, and
starts a new one. The command copies the rows of such a file into the new one. The daemon may run
meanwhile. Merging a file again changes nothing.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from exporter.commands.common import required_state_directory
from exporter.commands.registry import Command
from exporter.config.settings import Settings
from exporter.drives.wear_counter import WearObservation
from exporter.runtime import kept_copy
from exporter.runtime.errors import ConfigError
from exporter.runtime.printable import printable
from exporter.runtime.privileges import as_owner
from exporter.wear.wear_database import HISTORY_FILE, WearDatabase

_HINT = "run this command as root or as the daemon's user"


def run(directory: Path, chosen: Sequence[Path], out: TextIO) -> int:
    """Merges wear histories and prints the number of rows of each. Returns the exit status 0.

    directory: the state directory of the daemon.
    chosen: the files to merge. Without any, these are all kept copies in the directory.

    Raises:
        ConfigError: a file cannot be read, the current history cannot be used, or there is nothing
            to merge.
    """
    history = directory / HISTORY_FILE
    copies = tuple(chosen)
    try:
        copies = copies or kept_copy.copies(history)
    except OSError as e:
        raise ConfigError(f"{directory} cannot be read: {e.strerror}", _HINT) from e
    if not copies:
        raise ConfigError(f"no wear history was set aside in {directory}", "name a file to merge")
    found = [(copy, _rows(copy)) for copy in copies]
    # An unusable history is not set aside here: only the daemon does that.
    if history.exists():
        _rows(history, only_check=True)
    for copy, rows in found:
        _write(history, rows)
        count = sum(map(len, rows.values()))
        words = f"{copy.name}: merged {count} rows of {len(rows)} drives into {history}"
        out.write(f"{printable(words)}\n")
    out.write("The files were not changed. Delete those that are not needed any more.\n")
    return 0


def _rows(path: Path, *, only_check: bool = False) -> dict[str, tuple[WearObservation, ...]]:
    """Returns the rows in a file, keyed by drive.

    Raises:
        ConfigError: the file cannot be used. The reason is in the log.
    """
    database = WearDatabase(path, read_only=True)
    try:
        keys = database.keys()
        rows = {key: database.rows(key) for key in ([] if only_check else keys or ())}
    finally:
        database.close()
    if keys is None or None in rows.values():
        raise ConfigError(f"{path} cannot be used: see the warning above", _HINT)
    return {key: found for key, found in rows.items() if found}


def _write(history: Path, rows: dict[str, tuple[WearObservation, ...]]) -> None:
    with as_owner(history.parent):
        database = WearDatabase(history)
        try:
            is_written = database.write({}, rows, {})
        finally:
            database.close()
    if not is_written:
        raise ConfigError(f"{history} cannot be written: see the warning above", _HINT)


def _add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "copies",
        nargs="*",
        type=Path,
        metavar="FILE",
        help=f"wear history to merge; default: every {HISTORY_FILE}.kept-* of the state directory",
    )


def _run(settings: Settings, arguments: argparse.Namespace) -> int:
    return run(required_state_directory(settings), arguments.copies, sys.stdout)


COMMAND = Command(
    "Merge the rows of wear histories that the daemon has set aside into the history that it uses."
    " The daemon may run meanwhile.",
    _add_arguments,
    _run,
)
