"""Formats the result of the month and lists its failures."""

from collections.abc import Iterator

from rigs.month.busy_shop import MAX_TICKETS, NOTICED
from rigs.month.demand import DAY
from rigs.month.faults import DAYS
from rigs.month.run import BUSY, HEALTHY, Month

_HEADING = (
    "fault",
    "alert",
    "severity",
    "fired on day",
    "for days",
    "lost on day",
    "days before",
)


def wrong(month: Month) -> list[str]:
    """Failures of the month as texts: false alarms, and missing or late alerts."""
    found = [
        f"the healthy host has {each.alert} ({each.severity}) of {each.device or 'the host'} "
        f"from day {each.first / DAY:.2f} to {each.last / DAY:.2f}"
        for each in month.false_alarms
    ]
    if month.has_busy_shop:
        found += _of_busy_shop(month)
    for fault in month.faults:
        lost = month.lost_at(fault)
        for alert in (fault.alert, *fault.also):
            fired = month.promised(fault, alert)
            if fired is None:
                found.append(f"a drive that {fault.name}: {alert} never fired")
            elif fired.first >= lost:
                found.append(f"a drive that {fault.name}: {alert} fired too late")
    return found


def table(month: Month) -> str:
    """Table of faults with their alerts and lead times."""
    rows = [_HEADING, *_rows(month)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def told(month: Month) -> str:
    """Other alerts, by host."""
    lines = []
    busy = [BUSY] if month.has_busy_shop else []
    for host in (HEALTHY, *busy, *(fault.host for fault in month.faults)):
        fired = dict.fromkeys(
            f"{each.alert} ({each.severity}) day {each.first / DAY:.2f}" for each in month.of(host)
        )
        lines.append(f"{host}: {', '.join(fired) or 'nothing'}")
    return "\n".join(lines)


def _of_busy_shop(month: Month) -> Iterator[str]:
    fired = month.of(BUSY)
    for each in fired:
        if each.severity == "critical":
            yield f"the busy shop has the page {each.alert} of {each.device or 'the host'}"
    tickets = sorted({(its.alert, its.device) for its in fired if its.severity == "warning"})
    if len(tickets) > MAX_TICKETS:
        yield f"the busy shop has {len(tickets)} tickets: {tickets}"
    if month.seconds >= DAYS * DAY:
        for alert in sorted({*NOTICED} - {its.alert for its in fired}):
            yield f"the busy shop: {alert} never fired, so the rules did not notice the work"


def _rows(month: Month) -> Iterator[tuple[str, ...]]:
    for fault in month.faults:
        fired, lost = month.promised(fault), month.lost_at(fault)
        before = "never" if fired is None else f"{(lost - fired.first) / DAY:.1f}"
        yield (
            fault.name,
            fault.alert,
            fired.severity if fired else "",
            f"{fired.first / DAY:.2f}" if fired else "",
            f"{fired.lasted / DAY:.2f}" if fired else "",
            f"{lost / DAY:.2f}",
            before,
        )
