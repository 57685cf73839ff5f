"""Finds the devices whose requests are measured, and the names of all devices.

The block layer has requests only for devices with a queue of their own. A partition uses that of
its disk. Device mapper and md have none, except for request-based multipath: they pass each request
on to the devices below them. For device mapper this was seen with Linux 6.1.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.latency.trace_histogram import kernel_number
from exporter.linux import block, diskstats
from exporter.runtime.errors import ConfigError

#: The most devices that are built on each other.
_MOST_LEVELS = 16


@dataclass(frozen=True, slots=True)
class MeasuredDevices:
    """The devices to measure.

    names: the names of all devices of the host, keyed by device number (``major:minor``).
    chosen: the device numbers that the user chose; empty for all.
    notes: a sentence for each device that is measured below.
    """

    names: Mapping[str, str]
    chosen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def kernel_numbers(self) -> tuple[int, ...]:
        """The chosen devices as numbers of the kernel's type dev_t."""
        return tuple(kernel_number(number) for number in self.chosen)

    def name(self, number: str) -> str:
        """Returns the name of a device; its number if it has disappeared or has no name."""
        return self.names.get(number, number)


def find(sys: Path, proc: Path, asked: Sequence[str]) -> MeasuredDevices:
    """Returns the devices that the user asked for; all devices for an empty sequence.

    asked: names such as "nvme0n1", or paths such as "/dev/mapper/data".

    Raises:
        ConfigError: there is no such device, or no device with requests below it.
        SourceError: /proc/diskstats cannot be read.
    """
    names = {record.number: record.device for record in diskstats.read(proc).value.values()}
    chosen: dict[str, None] = {}
    notes = []
    for words in asked:
        directory = _directory(sys, words)
        own = _whole(directory)
        below = tuple(dict.fromkeys(_leaves(sys, own, _MOST_LEVELS)))
        if not below:
            raise ConfigError(f"{words} has no device number", "name one of /proc/diskstats")
        if below != (own,):
            members = ", ".join(sorted(member.name for member in below))
            notes.append(f"{words} has no requests of its own: {members} are measured.")
        elif own != directory:
            notes.append(f"{words} is a partition: all requests of {own.name} are measured.")
        numbers = (block.read_device_number(member / "dev") for member in below)
        chosen |= dict.fromkeys(number for number in numbers if number)
    return MeasuredDevices(names, tuple(chosen), tuple(notes))


def in_flight(proc: Path) -> dict[str, int]:
    """Returns the number of requests in flight, keyed by device number.

    Raises:
        SourceError: /proc/diskstats cannot be read.
    """
    return {record.number: record.io_now for record in diskstats.read(proc).value.values()}


def _directory(sys: Path, words: str) -> Path:
    """Returns the directory of a device in sysfs."""
    path = os.path.realpath(words) if words.startswith("/") else words
    name = path.removeprefix("/dev/")
    directory = sys / "class" / "block" / name.replace("/", "!")
    if not name or name in (".", "..") or not directory.is_dir():
        raise ConfigError(f"{words} is no block device", "name a device such as nvme0n1")
    return Path(os.path.realpath(directory))


def _whole(directory: Path) -> Path:
    """Returns the directory of the disk of a partition; otherwise the same directory."""
    return directory.parent if (directory / "partition").exists() else directory


def _leaves(sys: Path, directory: Path, levels: int) -> Iterator[Path]:
    """Yields the directories of the disks on which a device is built; its own for a disk."""
    slaves = block.read_slaves(directory)
    if not slaves:
        yield directory
    elif levels:
        for slave in slaves:
            yield from _leaves(sys, _whole(_directory(sys, slave)), levels - 1)
