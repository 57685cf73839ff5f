"""How a running daemon is told to forget a missing drive: by an empty file in its directory.

The file's name says which, so there is nothing in it that could be half written, and no request is
lost to another. The daemon forgets, saves its state and then removes the file: killed in between it
forgets once more, which changes nothing.
"""

import logging
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from urllib.parse import quote

from exporter.smart.inventory import Inventory, KnownDrive

log = logging.getLogger(__name__)

_NAME = re.compile(r"forget-[\w.~%-]{1,240}", re.ASCII)
_MOST_REQUESTS = 1024

#: File names have at most 255 bytes; the longest serial number of a drive has 252.
_LONGEST_NAME = 240


def request(directory: Path, name: str) -> None:
    """Ask that the drives of a serial number (or WWN, or label: `KnownDrive.names`) be forgotten.

    Raises:
        OSError: the state directory is not there, full, or not to be written.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Root may ask in a directory of another user's: what lies there is not followed.
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        os.close(os.open(_file_name(name), flags, 0o600, dir_fd=descriptor))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def requests(directory: Path) -> tuple[str, ...]:
    """The names of the files of what has been asked for and not been done."""
    try:
        return tuple(sorted(filter(_NAME.fullmatch, os.listdir(directory)))[:_MOST_REQUESTS])
    except OSError:
        return ()


def fulfil(inventory: Inventory, asked: Collection[str]) -> int:
    """Forget what is asked for; how many drives that was.

    Only a complete look tells which drives are missing, so this waits for `Inventory.is_complete`.
    A drive that is there is not forgotten, for it would be back at once; that is said.
    """

    def is_meant(drive: KnownDrive) -> bool:
        return any(_file_name(name) in asked for name in drive.names)

    if not asked:
        return 0
    count = inventory.forget(is_meant)
    for drive in filter(is_meant, inventory.drives):
        log.warning("%s (%s) is not forgotten: it is there", drive.label, drive.names[0])
    return count


def remove(directory: Path, fulfilled: Iterable[str]) -> None:
    """To be called when the inventory without the forgotten drives has been saved."""
    for file_name in fulfilled:
        try:
            os.unlink(directory / file_name)
        except FileNotFoundError:
            continue
        except OSError as e:
            log.warning("%s cannot be removed: %s", directory / file_name, e.strerror)


def _file_name(name: str) -> str:
    return f"forget-{quote(name, safe='', errors='backslashreplace')[:_LONGEST_NAME]}"
