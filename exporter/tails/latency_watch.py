"""Keeps the latencies of requests that the agent has measured: the sums, and the last hour.

One thread calls `refresh`. Other threads read the attributes, which are replaced as a whole.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.runtime.clock import Clock
from exporter.runtime.errors import CommandError, NotAvailable, Parsed, ReadError
from exporter.smart.document_directory import DocumentReader
from exporter.smart.polling.moment import Moment
from exporter.tails.latency_bins import Bins, increase, packed, total, unpacked
from exporter.tails.latency_document import (
    LATENCY_FILE,
    DeviceRequests,
    LatencyDocument,
    parse_latency_document,
)

if TYPE_CHECKING:
    from array import array

#: Time between two readings of the document, in seconds.
REFRESH_SECONDS = 5.0

#: The time that `last_hour` covers, in seconds, and the most windows in it.
KEPT_SECONDS = 3600.0
_MOST_WINDOWS = 360

#: The document is too old after this number of periods and this time in seconds: a window may
#: wait for another measurement, and its result is taken up to 15 s later.
_FRESH_PERIODS, _FRESH_SECONDS = 2, 90.0

_NO_AGENT = "no smart-agent measures requests"


@dataclass(frozen=True, slots=True)
class RequestTotals:
    """What was measured since the start of the agent, or of the daemon if the agent started later.

    bins: keyed by device name and operation.
    lost, unfinished: keyed by device name.
    windows, shortened, observed_seconds: as in `LatencyDocument`.
    """

    bins: Mapping[tuple[str, str], Bins] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    unfinished: Mapping[str, int] = field(default_factory=dict)
    windows: int = 0
    shortened: int = 0
    observed_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class HourOfRequests:
    """The requests of a device in the last hour.

    bins: keyed by operation; those with requests.
    observed_seconds: how long requests were measured. windows: in this number of windows.
    lost, unfinished: as in `DeviceRequests`.
    """

    bins: Mapping[str, Bins]
    observed_seconds: float
    windows: int
    lost: int = 0
    unfinished: int = 0


@dataclass(frozen=True, slots=True)
class _Step:
    """What was added between two readings, at a monotonic time."""

    at: float
    windows: int
    observed_seconds: float
    bins: "Mapping[tuple[str, str], array[int]]"
    lost: Mapping[str, int]
    unfinished: Mapping[str, int]


class LatencyWatch:
    """The latencies of requests of this host.

    directory: the directory that the agent writes to.

    totals: the sums; None before the first reading.
    refresh_seconds: the time until the next call of `refresh`.
    """

    refresh_seconds = REFRESH_SECONDS

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._reader = DocumentReader(directory)
        self._clock = clock
        self._last: LatencyDocument | None = None
        #: True if a reading has found no document: the first one then has only new requests.
        self._was_empty = False
        self._steps: deque[_Step] = deque(maxlen=_MOST_WINDOWS)
        self.totals: RequestTotals | None = None

    def refresh(self) -> Parsed[None]:
        """Reads the document and adds what is new.

        Raises:
            SourceError: it cannot be read, is too old, or the last window was not measured. The
                message says why.
        """
        directory = self._reader.directory
        try:
            document = parse_latency_document(self._reader.read_file(LATENCY_FILE))
        except NotAvailable as e:
            self._was_empty = True
            raise ReadError(f"{_NO_AGENT}: {directory} has no {LATENCY_FILE}") from e
        age = Moment.now(self._clock).seconds_since(
            Moment(document.at, document.monotonic, document.boot_id)
        )
        if age > _FRESH_PERIODS * document.period_seconds + _FRESH_SECONDS:
            raise ReadError(f"{_NO_AGENT}: {LATENCY_FILE} is {age:.0f} seconds old")
        self._add(document)
        if document.problem:
            raise CommandError(f"requests are not measured: {document.problem}")
        return Parsed(None)

    def last_hour(self, device: str) -> HourOfRequests | None:
        """Returns the requests of a device in the last hour; None if no window ended in it."""
        since = self._clock.monotonic() - KEPT_SECONDS
        steps = [step for step in tuple(self._steps) if step.at >= since]
        if not steps:
            return None
        operations = dict.fromkeys(op for step in steps for name, op in step.bins if name == device)
        bins = {
            op: total(
                unpacked(step.bins[device, op]) for step in steps if (device, op) in step.bins
            )
            for op in operations
        }
        return HourOfRequests(
            bins,
            sum(step.observed_seconds for step in steps),
            sum(step.windows for step in steps),
            sum(step.lost.get(device, 0) for step in steps),
            sum(step.unfinished.get(device, 0) for step in steps),
        )

    def _add(self, document: LatencyDocument) -> None:
        last = self._last
        is_same_run = last is not None and last.run == document.run
        if is_same_run and last is not None and document.windows <= last.windows:
            return
        base = last if is_same_run and last is not None else _nothing(document)
        new = _difference(base, document)
        before = self.totals or RequestTotals()
        # What the agent has measured before the start of the daemon may be older than an hour.
        if (last is not None or self._was_empty) and new.windows:
            kept = {key: packed(bins) for key, bins in new.bins.items()}
            now = self._clock.monotonic()
            numbers = (_without_zeros(each) for each in (new.lost, new.unfinished))
            self._steps.append(_Step(now, new.windows, new.observed_seconds, kept, *numbers))
        self.totals = _sum(before, new)
        self._last = document


def _nothing(document: LatencyDocument) -> LatencyDocument:
    return LatencyDocument(
        document.run, document.at, document.monotonic, document.boot_id, document.period_seconds
    )


def _difference(earlier: LatencyDocument, later: LatencyDocument) -> RequestTotals:
    bins: dict[tuple[str, str], Bins] = {}
    lost, unfinished = {}, {}
    for name, device in later.devices.items():
        before = earlier.devices.get(name, DeviceRequests())
        for op, counts in device.bins.items():
            added = increase(counts, before.bins.get(op, {}))
            if added:
                bins[name, op] = added
        lost[name] = max(device.lost - before.lost, 0)
        unfinished[name] = max(device.unfinished - before.unfinished, 0)
    return RequestTotals(
        bins,
        lost,
        unfinished,
        later.windows - earlier.windows,
        max(later.shortened - earlier.shortened, 0),
        max(later.observed_seconds - earlier.observed_seconds, 0.0),
    )


def _sum(before: RequestTotals, new: RequestTotals) -> RequestTotals:
    keys = dict.fromkeys((*before.bins, *new.bins))
    return RequestTotals(
        {key: total((before.bins.get(key, {}), new.bins.get(key, {}))) for key in keys},
        _total_by_name(before.lost, new.lost),
        _total_by_name(before.unfinished, new.unfinished),
        before.windows + new.windows,
        before.shortened + new.shortened,
        before.observed_seconds + new.observed_seconds,
    )


def _without_zeros(numbers: Mapping[str, int]) -> dict[str, int]:
    return {name: number for name, number in numbers.items() if number}


def _total_by_name(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in dict.fromkeys((*one, *other))}
