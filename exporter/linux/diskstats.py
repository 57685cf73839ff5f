"""/proc/diskstats: what each block device has done since it appeared.

https://docs.kernel.org/admin-guide/iostats.html
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from exporter.errors import ParseError
from exporter.linux import files
from exporter.linux.files import Parsed, RawFile

#: The kernel's ABI: sectors here are 512 bytes, whatever the device's own.
SECTOR_BYTES = 512

#: The time fields are unsigned 32-bit milliseconds on every kernel: they wrap after 49.7 days of
#: summed I/O time, each by itself (https://github.com/elastic/beats/issues/30480).
TIME_WRAP_MILLISECONDS = 2**32

#: `in flight` of a driver that counts more ends than starts prints as a huge unsigned number.
_SANE_IN_FLIGHT = 2**31

_COUNTER_END = 1 << 64

#: A hidden path of an NVMe multipath head: nvme<subsystem>c<controller>n<namespace>.
_PATH = re.compile(r"(nvme\d+)c\d+(n\d+)", re.ASCII)

#: Discards came with kernel 4.18, flushes with 5.5; later kernels append, never reorder.
_BASIC, _WITH_DISCARDS, _WITH_FLUSHES = 14, 18, 20
_COLUMNS = frozenset({_BASIC, _WITH_DISCARDS})

#: Columns before the counters: major, minor, and the name.
_NAMES = 3

#: Where "in flight" stands behind the name.
_IN_FLIGHT = 8

_new = tuple.__new__


class DiskStats(NamedTuple):
    """One device's counters, the kernel's fields in its order and units; properties convert.

    A tuple of the kernel's own whole numbers, and not of seconds and bytes: one is made per busy
    device and second, most of it is looked at once a scrape only, and differences modulo the wrap
    are exact. None where the kernel does not count that: discards before 4.18, flushes before 5.5.
    """

    device: str
    number: str  # "major:minor"
    reads_completed: int
    reads_merged: int
    read_sectors: int
    read_milliseconds: int
    writes_completed: int
    writes_merged: int
    written_sectors: int
    write_milliseconds: int
    io_now: int
    io_milliseconds: int
    io_weighted_milliseconds: int
    discards_completed: int | None = None
    discards_merged: int | None = None
    discarded_sectors: int | None = None
    discard_milliseconds: int | None = None
    flush_requests: int | None = None
    flush_milliseconds: int | None = None

    @property
    def read_bytes(self) -> int:
        return self.read_sectors * SECTOR_BYTES

    @property
    def written_bytes(self) -> int:
        return self.written_sectors * SECTOR_BYTES

    @property
    def discarded_bytes(self) -> int | None:
        return None if self.discarded_sectors is None else self.discarded_sectors * SECTOR_BYTES

    @property
    def read_time_seconds(self) -> float:
        return self.read_milliseconds / 1000

    @property
    def write_time_seconds(self) -> float:
        return self.write_milliseconds / 1000

    @property
    def io_time_seconds(self) -> float:
        return self.io_milliseconds / 1000

    @property
    def io_time_weighted_seconds(self) -> float:
        return self.io_weighted_milliseconds / 1000

    @property
    def discard_time_seconds(self) -> float | None:
        return None if self.discard_milliseconds is None else self.discard_milliseconds / 1000

    @property
    def flush_requests_time_seconds(self) -> float | None:
        return None if self.flush_milliseconds is None else self.flush_milliseconds / 1000


#: Records under the very line that said them: an unchanged line needs no second parse.
RecordsByLine = dict[str, DiskStats]


def read_raw(proc: Path | str) -> RawFile:
    """The file, to be parsed later."""
    return files.read_raw(os.path.join(proc, "diskstats"))


def decode(found: RawFile) -> str:
    """The whole text of what `raw` has read.

    Raises:
        ReadError: as `files.text_for_sure`.
        ParseError: it is empty; a machine without any block device has nothing to watch.
    """
    whole = files.decode_required(found)
    if not whole:
        raise ParseError("diskstats: empty")
    return whole


def read(
    proc: Path | str, known: Mapping[str, DiskStats] = MappingProxyType({})
) -> Parsed[RecordsByLine]:
    """What the file says now; raises as `text`, else as `parse`."""
    return parse(decode(read_raw(proc)), known)


def records_by_device(records: Iterable[DiskStats]) -> dict[str, DiskStats]:
    """The records by device.

    The head of an NVMe multipath counts nothing before Linux 6.4 (d4d957b53d91): there it gets the
    sum of its hidden paths, nvme0c1n1 being one of nvme0n1.
    """
    by_device = {record.device: record for record in records}
    paths: dict[str, list[DiskStats]] = {}
    for device, record in by_device.items():
        if "c" not in device or (path := _PATH.fullmatch(device)) is None:
            continue
        head = by_device.get(path[1] + path[2])
        if head is not None and not head.reads_completed and not head.writes_completed:
            paths.setdefault(head.device, []).append(record)
    for device, records_of_paths in paths.items():
        head = by_device[device]
        columns = zip(*(path[2:] for path in records_of_paths), strict=True)
        sums = [None if None in column else sum(column) for column in columns]
        by_device[device] = DiskStats(head.device, head.number, *sums)  # type: ignore[arg-type]
    return by_device


def parse(text: str, known: Mapping[str, DiskStats]) -> Parsed[RecordsByLine]:
    """Records by line, in the kernel's order; a broken line is a fault and costs itself alone.

    `known` is the last reading's value: a device whose line is the same as then gets the same
    record object, for it did nothing.
    """
    lines: RecordsByLine = {}
    rows, faults = files.split_complete_lines("diskstats", text)
    for number, line in enumerate(rows, start=1):
        record = known.get(line)
        if record is None:
            try:
                record = _record(line)
            except ValueError as e:
                faults.append(ParseError(f"diskstats:{number}: {e}: {line[:200]!r}"))
                continue
        lines[line] = record
    return Parsed(lines, tuple(faults))


def _record(line: str) -> DiskStats:
    columns = line.split()
    count = len(columns)
    if count < _WITH_FLUSHES and count not in _COLUMNS:
        raise ValueError(f"{count} columns, where kernels print 14, 18 or 20")
    major, minor, device = columns[:_NAMES]
    numbers: list[int | None] = [*map(int, columns[_NAMES:_WITH_FLUSHES])]
    # Of what has no sign, none is beyond what the sum is not: half of what min() and max() cost.
    has_sign = "-" in line and line.count("-") > device.count("-")
    if has_sign or sum(numbers) >= _COUNTER_END:  # type: ignore[arg-type]
        _check(numbers)
    if not (major + minor).isdecimal():
        raise ValueError("no device number")
    if numbers[_IN_FLIGHT] >= _SANE_IN_FLIGHT:  # type: ignore[operator]
        numbers[_IN_FLIGHT] = 0
    if count < _WITH_FLUSHES:
        numbers += [None] * (_WITH_FLUSHES - count)
    # Past the class's own constructor, which costs as much as the rest of the line.
    return _new(DiskStats, (device, f"{major}:{minor}", *numbers))


def _check(numbers: Sequence[int | None]) -> None:
    if min(numbers) < 0 or max(numbers) >= _COUNTER_END:  # type: ignore[type-var, operator]
        raise ValueError("a number that is no counter of the kernel")
