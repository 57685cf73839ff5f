"""Builds `/live.json`: the texts that change, and the samples since the last request. Pure.

The keys are short, because the response is sent once a second:
n: the number of the last sample. at: the local time as text. ut: the Unix time.
st: the state of the page. If it changes, the client loads the page again.
m: a number that changes once a minute. If it changes, the client loads the page again, because
SMART values, mounts and roles may have changed.
t: the texts, keyed by the attribute `data-k` of the element.
o: the keys of the texts about slow requests.
h: the columns of the host.
s: the columns of each drive with curves, keyed by the position of the drive.
l: the lowest and the highest await of the chart, as powers of ten of seconds, keyed like s.
u: the rows of the services, keyed by the position of the drive.
c: the heights of the cells.
i: milliseconds between two samples. w: the number of samples that are available.
v: the names of the verdicts.
"""

import json
from collections.abc import Sequence

from exporter.io.recent_activity import SAMPLES, VERDICTS
from exporter.pages import charts, host_page, live_texts, many_drives
from exporter.pages.document import state_of
from exporter.pages.judgement import LABELS
from exporter.pages.page_texts import clock
from exporter.pages.views import DriveView, HostView

#: The page is loaded again at least after this time in seconds, for SMART values, mounts and roles.
_RELOAD_SECONDS = 60.0


def live_json(view: HostView, since: int, only: str, *, with_all: bool) -> bytes:
    """Returns the response of `/live.json`.

    since: the number of the last sample that the client has; 0 for all samples.
    only: the name of the drive, for the page of a drive; empty for the page of the host.
    with_all: True if the client shows the table of healthy drives.
    """
    number = view.now.number
    new = number - since if 0 < since <= number else view.now.window
    new = min(new, view.now.window, SAMPLES)
    texts = live_texts.host_texts(view.now) if not only else {}
    slow: list[str] = []
    columns: dict[str, object] = {}
    limits: dict[str, object] = {}
    services: dict[str, object] = {}
    drives, curves = _drives(view, only)
    for position, drive in enumerate(drives):
        now = drive.now
        if now is None or (position >= curves and not with_all):
            continue
        key = f"d{position}"
        texts |= live_texts.drive_texts(key, now)
        slow += live_texts.slow_keys(key, now)
        if drive.services:
            services[str(position)] = live_texts.service_rows(drive.services)
        if position < curves:
            columns[str(position)] = live_texts.drive_columns(now, new)
            limits[str(position)] = charts.await_decades(now.read_limit, now.write_limit)
    values: dict[str, object] = {
        "n": number,
        "at": clock(view.at),
        "ut": int(view.at),
        "st": state_of(view),
        "m": int(view.at // _RELOAD_SECONDS),
        "t": texts,
        "o": slow,
        "s": columns,
        "l": limits,
        "u": services,
        "i": round(view.now.interval_seconds * 1000),
        "w": view.now.window,
    }
    if not only:
        values["h"] = live_texts.host_columns(view.now, new)
        if len(view.drives) > host_page.MOST_SECTIONS:
            values["c"] = many_drives.cell_heights(view)
    if not since:
        values["v"] = [[verdict.value, LABELS[verdict]] for verdict in VERDICTS]
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
    # A surrogate becomes an escape of JSON, such as "\\udcff".
    return text.encode("utf-8", "backslashreplace")


def _drives(view: HostView, only: str) -> tuple[Sequence[DriveView], int]:
    """Returns the drives in the order of their keys, and how many of them have curves."""
    if only:
        found = [drive for drive in view.drives if drive.name == only]
        return found, len(found)
    if len(view.drives) > host_page.MOST_SECTIONS:
        return many_drives.numbered(view), many_drives.with_curves(view)
    return view.drives, len(view.drives)
