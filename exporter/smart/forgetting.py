"""Writes and fulfils requests to forget a missing drive.

The inventory lists all drives ever seen. A drive of the inventory is missing if it is not found any
more. A request removes such a drive from the inventory. The request is an empty file in the
daemon's state directory. The name of the file contains the name of the drive. The daemon drops the
drive, saves its state, and then removes the file. If the daemon is killed in between, it repeats
this after its next start.
"""

import logging
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from urllib.parse import quote

from exporter.runtime import untrusted_file
from exporter.smart.inventory import Inventory, KnownDrive

log = logging.getLogger(__name__)

_NAME = re.compile(r"forget-[\w.~%-]{1,240}", re.ASCII)
_MAX_REQUESTS = 1024

#: Limit of the drive's name in a file name, in characters. File names have at most 255 bytes; the
#: longest serial number of a drive has 252.
_MAX_NAME_CHARACTERS = 240


def request(directory: Path, name: str) -> None:
    """Creates a request to forget all missing drives with the given name.

    directory: the state directory of the daemon.
    name: one of `KnownDrive.names`.

    Raises:
        OSError: the state directory is missing, full, or not writable.
    """
    with untrusted_file.opened_directory(directory) as descriptor:
        try:
            os.close(untrusted_file.create(_file_name(name), 0o600, directory=descriptor))
        except FileExistsError:
            # An earlier request for the same drive is a regular file.
            untrusted_file.check(directory / _file_name(name), 0)
        os.fsync(descriptor)


def requests(directory: Path) -> tuple[str, ...]:
    """Returns the file names of all requests; empty if the directory cannot be read."""
    try:
        return tuple(sorted(filter(_NAME.fullmatch, os.listdir(directory)))[:_MAX_REQUESTS])
    except OSError:
        return ()


def fulfil(inventory: Inventory, asked: Collection[str]) -> int:
    """Drops the missing drives that are named by requests, and returns their number.

    Call it only when `Inventory.is_complete` is True. A drive that is present is not dropped, and a
    warning is logged.

    asked: the file names of the requests.
    """

    def is_meant(drive: KnownDrive) -> bool:
        return any(_file_name(name) in asked for name in drive.names)

    if not asked:
        return 0
    count = inventory.forget(is_meant)
    for drive in filter(is_meant, inventory.drives):
        log.warning("%s (%s) is not forgotten: it is present", drive.label, drive.names[0])
    return count


def remove(directory: Path, fulfilled: Iterable[str]) -> None:
    """Removes the files of requests. Call it after the inventory has been saved.

    fulfilled: the file names of the requests.
    """
    for file_name in fulfilled:
        try:
            os.unlink(directory / file_name)
        except FileNotFoundError:
            continue
        except OSError as e:
            log.warning("%s cannot be removed: %s", directory / file_name, e.strerror)


def _file_name(name: str) -> str:
    return f"forget-{quote(name, safe='', errors='backslashreplace')[:_MAX_NAME_CHARACTERS]}"
