"""A past for the pages: a drive with a quiet night, one bad quarter of an hour, and a gap."""

import math
import random
from collections.abc import Callable
from dataclasses import replace

from exporter.history.history_events import STARTED, HistoryEvent
from exporter.history.io_summary import IoSummary
from exporter.io.verdict import Verdict
from exporter.pages.past.past_pages import PastPages
from exporter.pages.past.past_reader import Past, PastEvents, PastPoint, PastReader
from exporter.pages.past.time_range import TimeRange
from exporter.pages.views import HostView, RecentEvents
from tests.pages.examples import AT, DAY

#: The begin of the bottleneck: 24 minutes before the pages are taken, and the same time each night.
ILL_SECONDS = 900.0
BEGAN = AT // 60 * 60 - 1440.0


class ExampleReader(PastReader):
    """Returns computed values. A point has the same value in each range."""

    def __init__(self) -> None:
        super().__init__(None, lambda: AT)

    def past(self, shown: TimeRange, identity: str) -> Past:
        step = shown.kind.step_seconds
        points = [_point(shown.begin + number * step, step) for number in range(shown.kind.points)]
        events = [each for each in EVENTS if shown.begin <= each.at < shown.end]
        return Past(shown, points, [each for each in events if each.name in ("nvme1n1", "")])

    def events(self, before: float) -> PastEvents:
        return PastEvents(before, [each for each in EVENTS if each.at <= before])

    def is_open(self, event: HistoryEvent) -> bool:
        return event.kind == "device" and event.name == "sdc"


EVENTS = [
    HistoryEvent(AT // 60 * 60 - 300, None, "sdc", "c", "device", 260.0, 0.41),
    HistoryEvent(BEGAN, BEGAN + ILL_SECONDS, "nvme1n1", "n", "write_cache", 811.0, 0.184),
    HistoryEvent(AT - 13_800, None, "nvme2n1", "m", "missing"),
    HistoryEvent(AT - 30_000, None, "sdc", "c", "media_errors", 4.0),
    HistoryEvent(AT - 0.7 * DAY, None, "", "", STARTED),
    HistoryEvent(BEGAN - DAY, BEGAN - DAY + ILL_SECONDS, "nvme1n1", "n", "write_cache", 790.0, 0.2),
    HistoryEvent(AT - 1.3 * DAY, None, "nvme1n1", "n", "thermal", 35.0, 0.02),
]


def with_events(host: Callable[[int], HostView]) -> Callable[[int], HostView]:
    """Returns the host with its last events.

    They are those of `EVENTS`, if it has these drives; else its bottlenecks and missing drives.
    """

    def changed(shift: int) -> HostView:
        view = host(shift)
        names = {drive.name for drive in view.drives}
        found = [each for each in EVENTS[:4] if each.name in names]
        if len(found) < 4:
            found = []
            for number, drive in enumerate(view.drives):
                at = AT // 60 * 60 - 240 - 7000 * number
                kind = "missing" if drive.facts.is_missing else drive.verdict.value
                number_of = 1.0 if kind == "missing" else 190.0
                if kind != "none":
                    end = None if number == 0 else at + 200
                    found.append(
                        HistoryEvent(at, end, drive.name, drive.name, kind, number_of, 0.031)
                    )
        newest = (*found[:4], EVENTS[4])
        lasting = frozenset(each for each in newest[:1] if each.is_bottleneck)
        links = (("/events", "Events"), *view.links)
        return replace(view, recent=RecentEvents(newest, lasting), links=links)

    return changed


def pages() -> PastPages:
    """Returns the pages of this past."""
    return PastPages(ExampleReader(), lambda identity, name: identity or name)


def _point(at: float, step: int) -> PastPoint | None:
    if AT - 0.8 * DAY < at < AT - 0.72 * DAY or at < AT - 22 * DAY or at >= AT:
        return None
    chance = random.Random(at)
    of_day = (at % DAY) / DAY
    wave = 1 + 0.6 * math.sin(2 * math.pi * (of_day - 0.3)) + 0.15 * math.sin(at / 700)
    ill = 0.0
    for day in range(23):
        begin = BEGAN - day * DAY
        ill += max(0.0, min(at + step, begin + ILL_SECONDS) - max(at, begin))
    share = ill / step
    noise = chance.uniform(0.85, 1.15)
    read = 18e6 * wave * noise
    written = (9e6 * wave + 160e6 * share) * chance.uniform(0.8, 1.2)
    slow = 1 + 140 * (share if step > 600 else round(share))
    median = 0.00012 * noise * (slow if share > 0.5 else 1)
    worst = 0.0004 * chance.uniform(1, 4) * (1 + 110 * min(1.0, 3 * share))
    verdicts = {Verdict.WRITE_CACHE: 0.9 * ill} if ill else {}
    return PastPoint(
        float(step),
        IoSummary(read, written, median, worst, median * 0.7, worst * 0.8, verdicts),
    )
