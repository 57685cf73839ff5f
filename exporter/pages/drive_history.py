"""Reads what is kept about a drive besides its state: wear, results of probes. It reads no file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from exporter.io.drive_events import DriveEvent
from exporter.pages.views import DriveFacts, DriveView
from exporter.probe.slc_results import SlcResult


@dataclass(frozen=True, slots=True)
class ProbeRounds:
    """The kept results of one probe profile on a drive.

    is_latency: True if the values are seconds, False if they are operations or bytes per second.
    rounds: Unix times and values, in the order of time.
    """

    name: str
    is_latency: bool
    rounds: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class DriveHistory:
    """What is kept about a drive.

    wear: Unix times and used ratios of the last 400 days, in the order of time.
    probes: the kept results of each probe profile.
    cache: the last result of a write cache probe; None if there is none.
    events: what happened to the drive in the last year, in the order of time.
    """

    wear: Sequence[tuple[float, float]] = ()
    probes: Sequence[ProbeRounds] = ()
    cache: SlcResult | None = None
    events: Sequence[DriveEvent] = ()


class WearYears(Protocol):
    """Provides the wear of a drive over a year, as `WearRecorder.year` does."""

    def year(self, key: str) -> Sequence[tuple[float, float]]: ...


class HistoryReader:
    """Returns the history of a drive from what the daemon holds in memory.

    wear: None without a wear history.
    rounds: returns the kept results of probes, as `RoundHistory.to_state` does.
    caches: returns the results of write cache probes, keyed by device name.
    events: returns the events of a drive, as `DriveEvents.of` does.
    """

    def __init__(
        self,
        wear: WearYears | None,
        rounds: Callable[[], Mapping[str, Any]],
        caches: Callable[[], Mapping[str, SlcResult]],
        events: Callable[[str, str], Sequence[DriveEvent]] = lambda _identity, _name: (),
    ) -> None:
        self._wear = wear
        self._rounds = rounds
        self._caches = caches
        self._events = events

    def of_drive(self, drive: DriveView) -> DriveHistory:
        """Returns the history of one drive. It does not block."""
        facts = drive.facts
        return DriveHistory(
            wear=self._wear_of(facts),
            probes=tuple(_probes(self._rounds(), facts.identity)),
            cache=self._caches().get(facts.name),
            events=self._events(facts.identity, facts.name),
        )

    def _wear_of(self, facts: DriveFacts) -> Sequence[tuple[float, float]]:
        key = "" if facts.smart is None else facts.smart.key
        return self._wear.year(key) if self._wear is not None and key else ()


def _probes(rounds: Mapping[str, Any], identity: str) -> Iterator[ProbeRounds]:
    """Yields the series of a drive. The keys are those of `probe.results.series_key`."""
    for key, series in rounds.items():
        if not identity or not key.startswith(f"{identity}|"):
            continue
        labels = key[len(identity) + 1 :].split("|")
        values = [(float(at), float(value)) for at, value, *_ in series["rounds"]]
        name = labels[1] if len(labels) > 1 else ""
        # A rate would be at least one operation per second.
        is_latency = bool(values) and max(value for _, value in values) < 1
        yield ProbeRounds(name, is_latency, values)
