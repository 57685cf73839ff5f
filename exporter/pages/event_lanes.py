"""Builds the events of a drive's page: a row (lane) per kind, with a mark per day. Pure."""

from collections.abc import Sequence

from exporter.io.drive_events import DriveEvent, EventKind
from exporter.pages.page_texts import counted, day
from exporter.pages.wear_chart import months

_DAY = 86400.0
_DAYS = 365

#: The name of each kind, and the class of its marks.
LANES = {
    EventKind.MISSING: ("Disappeared", "evw"),
    EventKind.RETURNED: ("Returned", "ev"),
    EventKind.NEW: ("Installed", "ev"),
    EventKind.FAILING: ("Predicted its failure", "evw"),
    EventKind.SELF_TEST: ("Self-test failed", "evw"),
    EventKind.MEDIA_ERRORS: ("Uncorrectable errors", "evw"),
    EventKind.LINK_ERRORS: ("Link errors", "ev"),
    EventKind.RESET: ("Counters reset", "ev"),
    EventKind.POWER_LOSS: ("Power losses", "ev"),
    EventKind.DEVICE: ("Bottleneck: device", "k-device"),
    EventKind.WRITE_CACHE: ("Bottleneck: write cache", "k-write_cache"),
    EventKind.THERMAL: ("Bottleneck: thermal", "k-thermal"),
    EventKind.THROTTLED: ("Bottleneck: throttled", "k-throttled"),
    EventKind.LINK: ("Bottleneck: link", "k-link"),
}


def event_lanes(events: Sequence[DriveEvent], now: float) -> str:
    """Returns the lanes of the last year as HTML; empty if there is no event.

    now: the Unix time of the page.
    """
    end = int(now // _DAY)
    recent = [event for event in events if 0 <= end - event.day < _DAYS]
    if not recent:
        return ""
    lanes = "".join(
        _lane(kind, [event for event in recent if event.kind is kind], end) for kind in LANES
    )
    begin = now - _DAYS * _DAY
    names = "".join(
        f'<text class="c{"" if number % 3 == 0 else " opt"}"'
        f' x="{100 * (at - begin) / (now - begin):.1f}%" y="14">{name}</text>'
        for number, (at, name) in enumerate(months(begin, now))
    )
    axis = (
        '<div class="lane axis" aria-hidden="true"><span></span>'
        f'<svg class="fig">{names}</svg><span></span></div>'
    )
    return lanes + axis


def _lane(kind: EventKind, events: Sequence[DriveEvent], end: int) -> str:
    if not events:
        return ""
    name, mark = LANES[kind]
    marks = "".join(
        f'<rect class="{mark}" x="{_DAYS - 1 - (end - event.day)}" y="6" width="2" height="16"/>'
        for event in events
    )
    times, last = sum(event.count for event in events), day((events[-1].day + 0.5) * _DAY)
    words = f"{times:,} on {counted(len(events), 'day')}"
    return (
        f'<div class="lane"><span>{name}</span><svg class="fig" viewBox="0 0 {_DAYS + 1} 28"'
        f' preserveAspectRatio="none" role="img" aria-label="{name}: {words}, last {last}">'
        f'<path class="ax" d="M0 22H{_DAYS + 1}"/>{marks}</svg><span title="last {last}">{words}'
        "</span></div>"
    )
