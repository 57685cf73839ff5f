"""Reads the history of a drive from memory: wear, results of probes, events. It reads no file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exporter.io.drive_events import DriveEvent
from exporter.metrics.collectors import Sources
from exporter.pages.views import DriveView
from exporter.probe.slc_results import SlcResult

if TYPE_CHECKING:
    from exporter.tails.latency_watch import HourOfRequests


@dataclass(frozen=True, slots=True)
class ProbeRounds:
    """The results of one probe profile on a drive.

    is_latency: True if the values are seconds, False if they are operations or bytes per second.
    rounds: pairs of Unix time and value, in the order of time.
    """

    name: str
    is_latency: bool
    rounds: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class DriveHistory:
    """The history of a drive.

    wear: pairs of Unix time and used ratio of the last 400 days, in the order of time.
    probes: the results of each probe profile.
    cache: the last result of a write cache probe; None if there is none.
    events: what happened to the drive in the last year, in the order of time.
    requests: its single requests in the last hour; None if they were not measured.
    """

    wear: Sequence[tuple[float, float]] = ()
    probes: Sequence[ProbeRounds] = ()
    cache: SlcResult | None = None
    events: Sequence[DriveEvent] = ()
    requests: "HourOfRequests | None" = None


def read_history(sources: Sources, drive: DriveView) -> DriveHistory:
    """Returns the history of one drive from the memory of the daemon. It does not block."""
    facts = drive.facts
    wear = None if sources.health is None else sources.health.wear
    key = "" if facts.smart is None else facts.smart.key
    return DriveHistory(
        wear=wear.year(key) if wear is not None and key else (),
        probes=tuple(_probes(sources.probe_rounds(), facts.identity)),
        cache=sources.slc_results().get(facts.name),
        events=sources.events.of(facts.identity, facts.name),
        requests=None if sources.latency is None else sources.latency.last_hour(facts.name),
    )


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
