"""What a profile is judged by, and how such a figure is said."""

from enum import Enum

from exporter.background import probe_rounds
from exporter.commands.words import latency, speed
from exporter.report.words import number
from exporter.tools.fio_profiles import KIB, Profile

#: As in `probe_rounds`: from this block size on bytes per second are what counts.
_THROUGHPUT_BLOCK_BYTES = 128 * KIB


class Quantity(str, Enum):
    """Of what `probe_rounds.measured` is; the values are its unit, for programs."""

    LATENCY = "seconds"
    THROUGHPUT = "bytes_per_second"
    RATE = "iops"

    @property
    def words(self) -> str:
        return _WORDS[self]


_WORDS = {
    Quantity.LATENCY: "mean latency",
    Quantity.THROUGHPUT: "throughput",
    Quantity.RATE: "IOPS",
}


def quantity(profile: Profile) -> Quantity:
    if probe_rounds.is_latency(profile):
        return Quantity.LATENCY
    is_large = profile.block_bytes >= _THROUGHPUT_BLOCK_BYTES
    return Quantity.THROUGHPUT if is_large else Quantity.RATE


def shown(profile: Profile, value: float) -> str:
    """A round's value, with its unit but for IOPS."""
    its = quantity(profile)
    if its is Quantity.LATENCY:
        return latency(value)
    return f"{speed(value)} MB/s" if its is Quantity.THROUGHPUT else number(value)
