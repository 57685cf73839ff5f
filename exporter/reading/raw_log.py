"""Reads one raw log page of an NVMe drive for `read --log`, and formats what it contains.

The page is binary, or a hex dump as `smartctl -l nvmelog,PAGE,SIZE` and `nvme get-log` print it.
"""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.decode import decode
from exporter.drives.nvme_logs.drive_latency import OPERATIONS, DriveLatency, LatencyBucket
from exporter.reading.read_details import amount
from exporter.runtime.errors import ParseError

#: The largest size of a file with a page, in bytes. A dump of 4 KiB has 20 KB.
MAX_FILE_BYTES = 1 << 20
#: The largest size of a page, in bytes.
_MAX_PAGE_BYTES = 16384

#: A line of a hex dump: a position and up to 16 bytes. Characters after them are not read.
_LINE = re.compile(r"[ \t]{0,8}([0-9a-fA-F]{2,8}):?[ \t]+", re.ASCII)
_BYTE = re.compile(r"([0-9a-fA-F]{2})(?=\s|$)[ \t]{0,2}", re.ASCII)
_BYTES_PER_LINE = 16


class LogRow(NamedTuple):
    """One value of a page.

    name: the field of `NvmeLogValues`; of page C3h a name such as "active read 0.03 s".
    value: the value in the unit that the name states.
    text: the value with its unit, for people.
    """

    name: str
    value: float | str
    text: str


def page_bytes(content: bytes) -> bytes:
    """Returns the bytes of the page in a file: those of a hex dump, else the content itself.

    Raises:
        ParseError: the dump has a gap, or the page is too large.
    """
    data = content if b"\x00" in content[:4096] else _dumped(content)
    if len(data) > _MAX_PAGE_BYTES:
        raise ParseError(
            f"{len(data):,} bytes are no log page: pages have up to {_MAX_PAGE_BYTES:,}"
        )
    return data


def log_rows(page: int, data: bytes, controller: Controller) -> list[LogRow]:
    """Returns the values in a page, in the order of `NvmeLogValues` or of the buckets.

    Raises:
        ParseError: the page cannot be decoded; the message is the reason.
    """
    decoded = decode(page, data, controller)
    if isinstance(decoded, DriveLatency):
        return list(_latency_rows(decoded))
    return [
        LogRow(name, value, amount(name, value))
        for name, value in dataclasses.asdict(decoded).items()
        if value is not None
    ]


def plain_log(page: int, rows: list[LogRow]) -> dict[str, Any]:
    """Returns the page as one JSON object. A value that the drive does not report has no key."""
    return {"log": f"0x{page:02x}", **{row.name: row.value for row in rows}}


def _dumped(content: bytes) -> bytes:
    """Returns the bytes of a hex dump; the content itself if it is no dump.

    Raises:
        ParseError: the dump has a gap.
    """
    data = bytearray()
    for line in content.decode("latin-1").split("\n"):
        match = _LINE.match(line)
        if match is None:
            continue
        found: list[int] = []
        at = match.end()
        while len(found) < _BYTES_PER_LINE and (byte := _BYTE.match(line, at)) is not None:
            found.append(int(byte[1], 16))
            at = byte.end()
        if not found:
            continue
        if int(match[1], 16) != len(data):
            if not data:
                continue  # a line before the dump
            raise ParseError(f"the hex dump has a gap at {len(data):x}h")
        data += bytes(found)
    return bytes(data) or content


def _latency_rows(latency: DriveLatency) -> Iterator[LogRow]:
    yield LogRow("enabled", int(latency.enabled), "yes" if latency.enabled else "no")
    if latency.enabled:
        yield LogRow("active_seconds", latency.active_seconds, _minutes(latency.active_seconds))
    if latency.window_seconds is not None:
        yield LogRow("window_seconds", latency.window_seconds, _minutes(latency.window_seconds))
    for kind, buckets in (("active", latency.active), ("static", latency.static)):
        for bucket in buckets:
            yield from _bucket_rows(kind, bucket)


def _bucket_rows(kind: str, bucket: LatencyBucket) -> Iterator[LogRow]:
    end = "" if bucket.max_seconds is None else f" below {bucket.max_seconds:g} s"
    for operation in OPERATIONS:
        commands = getattr(bucket, operation)
        slowest = ""
        if commands.latency_seconds is not None:
            kind_of = "worst" if commands.is_worst else "first"
            slowest = f", the {kind_of} took {commands.latency_seconds:g} s"
        name = f"{kind} {operation} from {bucket.min_seconds:g} s{end}"
        yield LogRow(name, commands.count, f"{commands.count:,}{slowest}")


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:,.0f} min"
