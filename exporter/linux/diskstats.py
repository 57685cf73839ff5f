"""Reads /proc/diskstats: the I/O counters of each block device since it appeared.

https://docs.kernel.org/admin-guide/iostats.html

The exporter reads this file every second, so the parser is optimised for speed: it reuses the
record of each unchanged line, and checks the range of all numbers of a line at once.
"""

import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from exporter.linux import files
from exporter.linux.files import COUNTER_END, RawFile
from exporter.runtime.errors import LimitReached, Parsed, ParseError

#: The size of one sector in the counts of /proc/diskstats and /sys/block, in bytes. It does not
#: depend on the sector size of the device.
SECTOR_BYTES = 512

#: The value at which each time counter restarts from 0, in milliseconds. Time counters are unsigned
#: 32-bit numbers on every kernel. Each restarts separately, after 49.7 days of summed I/O time
#: (https://github.com/elastic/beats/issues/30480).
TIME_WRAP_MILLISECONDS = 2**32

#: If the number of requests in flight is this or more, it is replaced by 0. Drivers that count more
#: completions than starts make it negative, and the kernel prints it as a huge unsigned number.
_MAX_IN_FLIGHT = 2**31

#: The maximum number of lines of /proc/diskstats that are used: 4,096 disks with three partitions.
_MAX_RECORDS = 16_384

#: The name of a hidden path of NVMe multipath: nvme<subsystem>c<controller>n<namespace>. A path is
#: a disk as seen through one controller. The head nvme<subsystem>n<namespace> combines its paths.
_NVME_PATH = re.compile(r"(nvme\d+)c\d+(n\d+)", re.ASCII)

#: The number of columns per line. Kernel 4.18 added discards, and kernel 5.5 added flushes. Later
#: kernels may append columns, and never reorder them.
_BASIC, _WITH_DISCARDS, _WITH_FLUSHES = 14, 18, 20
_SHORT_FORMATS = frozenset({_BASIC, _WITH_DISCARDS})

#: The number of columns before the counters: major number, minor number, device name.
_NAME_COLUMNS = 3

#: The index of the number of requests in flight among the counters.
_IN_FLIGHT = 8

# Creates a named tuple without calling the class's own constructor, which takes as long as the rest
# of the parser.
_new = tuple.__new__


class DiskStats(NamedTuple):
    """The counters of one device since it appeared.

    The fields have the order and the units of the kernel's file. A field ending with ``_sectors``
    is a number of units of 512 bytes, and one ending with ``_milliseconds`` is a time. Other
    counters are numbers of requests. None means that the kernel does not count the value: discards
    before Linux 4.18, flushes before 5.5.

    The properties convert the fields to bytes and seconds. The conversion is separate because a
    record is created for each busy device every second, but converted only for a scrape. Integers
    also give exact differences when a counter has restarted from 0.

    device: the kernel's name, such as ``nvme0n1``.
    number: the device number, ``major:minor``.
    io_now: the number of requests in flight.
    io_milliseconds: the time with at least one request in flight.
    io_weighted_milliseconds: the time in flight, summed over all requests.
    """

    device: str
    number: str
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


#: The records, keyed by the line of the file that each was parsed from. An unchanged line is not
#: parsed again.
RecordsByLine = dict[str, DiskStats]


def read(
    proc: Path | str, known: Mapping[str, DiskStats] = MappingProxyType({})
) -> Parsed[RecordsByLine]:
    """Reads /proc/diskstats, and returns the records keyed by line. See `parse`.

    known: the value of the previous reading.

    Raises:
        ReadError: the file is absent or cannot be read.
        ParseError: the file is empty.
    """
    return parse(decode(read_raw(proc)), known)


def read_raw(proc: Path | str) -> RawFile:
    """Returns the bytes of /proc/diskstats. Never raises: `RawFile.error` is the exception."""
    return files.read_raw(os.path.join(proc, "diskstats"))


def decode(raw: RawFile) -> str:
    """Returns the text of /proc/diskstats from its bytes.

    Raises:
        ReadError: the file is absent or could not be read.
        ParseError: the file is empty, because this host has no block device.
    """
    text = files.decode_required(raw)
    if not text:
        raise ParseError("diskstats: empty")
    return text


def parse(text: str, known: Mapping[str, DiskStats]) -> Parsed[RecordsByLine]:
    """Returns the records keyed by line, in the order of the file.

    Never raises: each malformed line adds an exception to `Parsed.faults`. At most 16,384 records
    are returned, and a fault reports that there are more.

    text: the text of /proc/diskstats.
    known: the value of the previous reading. If a line did not change, the result contains the same
        record object.
    """
    records: RecordsByLine = {}
    lines, faults = files.split_complete_lines("diskstats", text, _MAX_RECORDS)
    # The lines usually have the same order as in the previous reading.
    previous: Iterable[tuple[str, DiskStats | None]] = repeat(("", None))
    if len(known) == len(lines):
        previous = known.items()
    for number, (line, (before, last)) in enumerate(zip(lines, previous), start=1):  # noqa: B905
        record = last if line == before else _next_record(line, before, last) or known.get(line)
        if record is None:
            try:
                record = _parse_line(line)
            except ValueError as e:
                faults.add(ParseError(f"diskstats:{number}: {e}: {line[:200]!r}"))
                continue
        records[line] = record
    return Parsed(records, faults.listed())


def records_by_device(records: Iterable[DiskStats]) -> dict[str, DiskStats]:
    """Returns the records, keyed by the name of the device.

    Before Linux 6.4, the counters of a head of NVMe multipath stay 0 (commit d4d957b53d91). The
    result then contains the sums of the head's hidden paths: nvme0c1n1 is a path of nvme0n1.
    """
    by_device = {record[0]: record for record in records}
    paths: dict[str, list[DiskStats]] = {}
    for device, record in by_device.items():
        if "c" not in device or (path := _NVME_PATH.fullmatch(device)) is None:
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


def first_devices(
    disks: dict[str, DiskStats], known: Container[str]
) -> Parsed[dict[str, DiskStats]]:
    """Returns at most 4,096 of these records, and a fault if there are more.

    These are the known devices, and then the first of the others. So the devices on the page do not
    change when others appear.

    disks: keyed by device name. The order is kept.
    known: the names of the devices that were used before.
    """
    most = files.MAX_DEVICES
    if len(disks) <= most:
        return Parsed(disks)
    names = frozenset(sorted(disks, key=lambda name: name not in known)[:most])
    kept = {name: disk for name, disk in disks.items() if name in names}
    fault = LimitReached(f"diskstats: only {most} of {len(disks)} devices are exported")
    return Parsed(kept, (fault,))


def _next_record(line: str, before: str, last: DiskStats | None) -> DiskStats | None:
    """Returns the record of a line, if it continues that of the same device and needs no check.

    before, last: the line and the record of the previous reading. Only the counters are parsed if
    the lines are equal up to them. None means that `_parse_line` is required.
    """
    if last is None or (device := last[0]).isdecimal():
        return None
    begin = before.find(device) + len(device) + 1
    if not line.startswith(before[:begin]):
        return None
    text = line[begin:]
    try:
        counters = tuple(map(int, text.split()))
    except ValueError:
        return None
    if (
        len(counters) != _WITH_FLUSHES - _NAME_COLUMNS
        or "-" in text
        or sum(counters) >= COUNTER_END
        or counters[_IN_FLIGHT] >= _MAX_IN_FLIGHT
    ):
        return None
    return _new(DiskStats, last[:2] + counters)


def _parse_line(line: str) -> DiskStats:
    columns = line.split()
    count = len(columns)
    if count < _WITH_FLUSHES and count not in _SHORT_FORMATS:
        raise ValueError(f"{count} columns instead of 14, 18, or at least 20")
    major, minor, device = columns[:_NAME_COLUMNS]
    counters: list[int | None] = [*map(int, columns[_NAME_COLUMNS:_WITH_FLUSHES])]
    # If no counter is negative and the sum of all is in range, then each counter is in range. This
    # check takes half the time of min() and max(), which are used only if it fails.
    has_sign = "-" in line and line.count("-") > device.count("-")
    if has_sign or sum(counters) >= COUNTER_END:  # type: ignore[arg-type]
        _check_range(counters)
    if not (major + minor).isdecimal():
        raise ValueError("no device number")
    if counters[_IN_FLIGHT] >= _MAX_IN_FLIGHT:  # type: ignore[operator]
        counters[_IN_FLIGHT] = 0
    if count < _WITH_FLUSHES:
        counters += [None] * (_WITH_FLUSHES - count)
    return _new(DiskStats, (device, f"{major}:{minor}", *counters))


def _check_range(counters: Sequence[int | None]) -> None:
    if min(counters) < 0 or max(counters) >= COUNTER_END:  # type: ignore[type-var, operator]
        raise ValueError("a number is not an unsigned 64-bit counter")
