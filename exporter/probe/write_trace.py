"""A long write as it went: how much was written in how long, sample by sample.

A write cache ends after so many bytes and not after so many seconds, so what is judged is the
speed over equal amounts of bytes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

MIB = 1 << 20
GIB = 1 << 30

#: A sample outside is no record of a write; and sums of those within stay finite.
_MOST_SECONDS, _MOST_BYTES = 1e9, 1e18

#: No bin is written in less: what a clock says of shorter times is noise, and 0 has no speed.
_LEAST_SECONDS = 1e-9


class TraceSample(NamedTuple):
    """So many bytes were written within so many seconds since the sample before."""

    seconds: float
    written_bytes: float


@dataclass(frozen=True, slots=True)
class BinRules:
    """Into what amounts of bytes a trace is cut.

    bin_bytes: of a trace of `short_bytes` and more; short_bin_bytes: of a shorter one.
    least_bins: a trace too short for so many is cut finer, down to `least_bin_bytes`.
    most_bins: a trace too long for so many is cut coarser.
    """

    bin_bytes: int = 128 * MIB
    short_bin_bytes: int = 64 * MIB
    short_bytes: int = 4 * GIB
    least_bins: int = 32
    least_bin_bytes: int = MIB
    most_bins: int = 4096

    def bin_bytes_for(self, written_bytes: float) -> float:
        if written_bytes >= self.short_bytes:
            return max(self.bin_bytes, written_bytes / self.most_bins)
        return max(min(self.short_bin_bytes, written_bytes / self.least_bins), self.least_bin_bytes)


@dataclass(frozen=True, slots=True)
class BinnedTrace:
    """The speed over each amount of `bin_bytes`, in bytes per second; a rest that fills none is
    in `written_bytes` only.
    """

    written_bytes: int
    bin_bytes: float
    speeds: tuple[float, ...]


def binned(trace: Iterable[TraceSample], rules: BinRules) -> BinnedTrace:
    """The trace over equal amounts of bytes.

    Within a sample the speed is taken as even. A sample with times or bytes that cannot be is left
    out; one without bytes is time in which the write hung.
    """
    samples = [
        (seconds, written if written >= 1 else 0)
        for seconds, written in trace
        if 0 < seconds <= _MOST_SECONDS and 0 <= written <= _MOST_BYTES
    ]
    total = sum(written for _, written in samples)
    size = rules.bin_bytes_for(total)
    speeds: list[float] = []
    missing, spent = size, 0.0
    for seconds, sample_bytes in samples:
        written = sample_bytes
        pace = seconds / written if written else 0.0
        while written >= missing:
            spent += missing * pace
            speeds.append(size / max(spent, _LEAST_SECONDS))
            written -= missing
            missing, spent = size, 0.0
        missing -= written
        spent += written * pace if sample_bytes else seconds
    return BinnedTrace(int(total), size, tuple(speeds))
