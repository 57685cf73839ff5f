"""What probes of write caches have left, for the page.

Apart from `slc`, which judges them, with statistics, decimal and hashlib: 4 MB that a daemon does
without.
"""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from exporter.background import slc_files, slc_results
from exporter.background.slc_results import SlcResult
from exporter.linux.files import Parsed


class SlcProbes:
    """The results in a state directory, whoever left them there. `results` is for the page."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._found: tuple[SlcResult, ...] = ()

    def look(self) -> Parsed[None]:
        """Read them all; on a thread that may wait for a disk.

        Raises:
            ReadError: the directory cannot be listed.
        """
        found = slc_files.read_all(self._directory)
        with self._lock:
            self._found = tuple(found.value)
        return Parsed(None, found.faults)

    def results(self, identities: Callable[[], Mapping[str, str]]) -> dict[str, SlcResult]:
        """By the label that each drive has now.

        identities: of the devices by their names; asked only where there is a result.
        """
        with self._lock:
            found = self._found
        return slc_results.by_device(found, identities()) if found else {}
