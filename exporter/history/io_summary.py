"""The I/O of one drive in a period, such as a minute, as one small record. Pure.

A rate is a mean over the seconds with a sample. An await is that of a second with requests: the
median and the worst of these seconds. Periods are combined to longer ones; the median is then the
median of the medians.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from exporter.io.verdict import Verdict


class IoSummary(NamedTuple):
    """The I/O of one drive in a period.

    read_bytes, written_bytes: per second.
    read_await, write_await: the median of the seconds with such requests, in seconds; 0 without.
    read_worst, write_worst: the longest await of a second, in seconds; 0 without requests.
    verdicts: the seconds of each bottleneck, keyed by verdict.
    """

    read_bytes: float = 0.0
    written_bytes: float = 0.0
    read_await: float = 0.0
    read_worst: float = 0.0
    write_await: float = 0.0
    write_worst: float = 0.0
    verdicts: Mapping[Verdict, float] = {}

    @property
    def worst(self) -> float:
        """The longest await of a second, of reads or writes, in seconds; 0 without requests."""
        return max(self.read_worst, self.write_worst)


#: A drive without requests.
IDLE = IoSummary()


class Period(NamedTuple):
    """The drives of a host in a minute or an hour.

    ordinal: the number of minutes or hours since 1970 (UTC).
    seconds: the number of seconds with a sample.
    drives: the drives that were there, keyed by identity.
    """

    ordinal: int
    seconds: float
    drives: Mapping[str, IoSummary]


def summary(columns: Sequence[Sequence[float]], verdicts: Mapping[Verdict, float]) -> IoSummary:
    """Returns the summary of consecutive samples.

    columns: the read and the written bytes per second, the read and the write await in seconds; of
        each sample. An await is 0 without requests.
    verdicts: the seconds of each bottleneck.
    """
    count = max(len(columns[0]), 1)
    reads, writes = (sorted(value for value in column if value > 0) for column in columns[2:])
    return IoSummary(
        sum(columns[0]) / count,
        sum(columns[1]) / count,
        _middle(reads),
        reads[-1] if reads else 0.0,
        _middle(writes),
        writes[-1] if writes else 0.0,
        verdicts,
    )


def combined(parts: Iterable[tuple[float, IoSummary]]) -> tuple[float, IoSummary]:
    """Returns the seconds and the summary of several periods.

    parts: the seconds with a sample and the summary of each period. They may be in any order, and
        a minute may occur twice, because the clock was set back.
    """
    known = [(seconds, each) for seconds, each in parts if seconds > 0]
    whole = sum(seconds for seconds, _ in known)
    if len(known) == 1:
        return known[0]
    if not known:
        return 0.0, IDLE
    verdicts: dict[Verdict, float] = {}
    for _, each in known:
        for verdict, seconds in each.verdicts.items():
            verdicts[verdict] = verdicts.get(verdict, 0.0) + seconds
    return whole, IoSummary(
        sum(seconds * each.read_bytes for seconds, each in known) / whole,
        sum(seconds * each.written_bytes for seconds, each in known) / whole,
        _middle(sorted(each.read_await for _, each in known if each.read_await > 0)),
        max(each.read_worst for _, each in known),
        _middle(sorted(each.write_await for _, each in known if each.write_await > 0)),
        max(each.write_worst for _, each in known),
        verdicts,
    )


def combined_period(ordinal: int, periods: Iterable[Period]) -> Period:
    """Returns the period that contains other ones: an hour of minutes.

    A drive that was there in only a part of them has the rates of that part.
    """
    parts: dict[str, list[tuple[float, IoSummary]]] = {}
    whole = 0.0
    for period in periods:
        whole += period.seconds
        for identity, each in period.drives.items():
            parts.setdefault(identity, []).append((period.seconds, each))
    return Period(ordinal, whole, {identity: combined(each)[1] for identity, each in parts.items()})


def _middle(ordered: Sequence[float]) -> float:
    """Returns the upper median of ordered values; 0 if there are none."""
    return ordered[len(ordered) // 2] if ordered else 0.0
