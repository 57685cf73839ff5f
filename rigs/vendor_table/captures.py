"""Reads captures: smartctl's JSON documents of real drives, one per line of a compressed file."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.drives.drive_identity import identify
from exporter.drives.fields import Fields, device_statistic
from exporter.drives.health import DriveHealth, DriveIdentity, Protocol
from exporter.drives.makes import identify_makes
from exporter.drives.smart_report import parse_report

#: The captures that `make drives` reads without an argument. They are not in the repository.
CAPTURES = Path(__file__).parents[3] / "shared" / "ssd-captures"

_PERCENTAGE_USED, _SECTORS_WRITTEN = (7, 8), (1, 0x18)


@dataclass(frozen=True, slots=True)
class Capture:
    """One drive, read with its device statistics and without them.

    make: the most specific make of the drive; "" if it is unknown.
    statistics_percent: the Percentage Used Endurance Indicator; None if the drive has none.
    statistics_bytes: the logical sectors written, in bytes; None if the drive has none, or 0.
    health: the values as they are published.
    hidden: the values as they are published if the device statistics are removed.
    """

    identity: DriveIdentity
    make: str
    statistics_percent: int | None
    statistics_bytes: int | None
    health: DriveHealth
    hidden: DriveHealth


def captured_files(path: Path) -> list[Path]:
    """Returns the files with captures: `path` itself, or the files in the directory `path`."""
    return sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]


def read_captures(path: Path) -> Iterator[Capture]:
    """Yields the captures of all SSDs with the ATA protocol in a file or directory."""
    for file in captured_files(path):
        for line in _lines(file):
            capture = _read(json.loads(line))
            if capture is not None:
                yield capture


def _lines(file: Path) -> Iterator[str]:
    if file.suffix == ".gz":
        with gzip.open(file, "rt") as lines:
            yield from lines
    else:
        with file.open() as lines:
            yield from lines


def _read(document: dict[str, Any]) -> Capture | None:
    fields = Fields(document)
    identity = identify(fields)
    if identity.protocol is not Protocol.ATA or identity.rotational:
        return None
    health = parse_report(document).health
    hidden = {key: part for key, part in document.items() if key != "ata_device_statistics"}
    makes = identify_makes(identity, [attribute.id for attribute in health.attributes])
    sectors = device_statistic(fields, *_SECTORS_WRITTEN)
    return Capture(
        identity=identity,
        make=makes[0] if makes else "",
        statistics_percent=device_statistic(fields, *_PERCENTAGE_USED, maximum=255),
        statistics_bytes=sectors * (identity.logical_block_bytes or 512) if sectors else None,
        health=health,
        hidden=parse_report(hidden).health,
    )
