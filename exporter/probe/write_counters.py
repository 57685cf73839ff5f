"""Counts the bytes that a running fio writes, and the bytes of other processes on its device."""

from collections.abc import Callable
from pathlib import Path

from exporter.linux import files
from exporter.linux.diskstats import DiskStats
from exporter.runtime.errors import ParseError, SourceError


class WriteCounters:
    """Counts the bytes that fio wrote.

    If fio's counter cannot be read, the bytes that the device wrote since the creation of this
    object are counted instead.

    process: the file /proc/<pid>/io of fio.
    device: returns the counters of the device; None means unknown.
    """

    def __init__(self, process: Path, device: Callable[[], DiskStats | None]) -> None:
        self._process = process
        self._device = device
        self._before = device()
        self._last: tuple[int, int] | None = None
        self._has_process = False
        self._own: int | None = None
        self.is_device_total = False
        self.problem = ""

    def count(self) -> int | None:
        """Returns the number of bytes written so far by fio or by the device; None if unknown."""
        if not self.is_device_total:
            try:
                count = written_bytes(files.read(self._process))
            except SourceError as e:
                self.problem = f"fio's written bytes cannot be read: {e}"
                # If the file was readable before, the process has ended. Then do not change to the
                # counter of the device.
                self.is_device_total = not self._has_process
            else:
                self._has_process = True
                self._own = count
                return count
        now, before = self._device() if self.is_device_total else None, self._before
        if now is None or before is None:
            return None
        return max(0, now.written_bytes - before.written_bytes)

    def others_bytes(self) -> float:
        """Returns the bytes that other processes read and wrote since the previous call.

        Returns 0 if unknown. A single value may be negative: the bytes of fio are counted at their
        submission, and the bytes of the device at their completion.
        """
        own = None if self.is_device_total else self._own
        disk, last = self._device(), self._last
        self._last = (
            None if own is None or disk is None else (own, disk.written_bytes + disk.read_bytes)
        )
        if last is None or self._last is None:
            return 0.0
        return float((self._last[1] - last[1]) - (self._last[0] - last[0]))


def written_bytes(text: str) -> int:
    """Returns the bytes that all threads of a process caused to be written to block devices.

    text: the content of /proc/<pid>/io; the value is "write_bytes", see proc(5).

    Raises:
        ParseError: the text contains no valid write_bytes.
    """
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name == "write_bytes":
            try:
                return files.parse_counter(value)
            except ValueError as e:
                raise ParseError(f"/proc/<pid>/io: write_bytes: {e}") from e
    raise ParseError("/proc/<pid>/io has no write_bytes")
