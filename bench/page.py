"""Measures the cost of the live page: memory of the last samples, CPU and memory of a viewer.

The viewer requests `/live.json` once a second, as the script of the page does, and `/` once a
minute. The cost includes the processing of the samples, which are processed one by one while
somebody looks.
"""

import http.client
import json
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench import programs
from bench.kernel import Kernel
from bench.machine import slowness
from bench.rows import Row, show_progress
from exporter.io.interval import disk_interval
from exporter.io.recent_activity import RecentActivity
from exporter.io.verdict import Verdict
from exporter.linux.diskstats import DiskStats

_DRIVES = 24
#: Maximum memory of the last samples of 24 drives, in MB.
_MAX_MEGABYTES = 1.0
#: Maximum CPU time that one viewer adds, as a share of a core.
_MAX_SHARE = 0.003
#: Time between two scrapes, and between two requests of the whole page, in seconds.
_SCRAPE_SECONDS, _PAGE_SECONDS = 15.0, 60.0
#: Time of each of the two measurements.
_SECONDS = 120.0


def rows(scale: float) -> Iterator[Row]:
    """Yields the memory of the samples, and the CPU time and the memory of one viewer."""
    megabytes = _sample_megabytes()
    limit = f"<= {_MAX_MEGABYTES:.0f}"
    is_met = megabytes <= _MAX_MEGABYTES
    yield f"last 300 samples of {_DRIVES} drives", megabytes, 0.0, "MB", limit, is_met
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        host = stack.enter_context(Kernel(place / "host", _DRIVES, _DRIVES))
        ours = stack.enter_context(programs.ours(host, place / "state"))
        yield from _viewer(ours, _SECONDS * scale)


def _sample_megabytes() -> float:
    """Returns the memory of the last samples of 24 drives that are always busy."""
    before = DiskStats("sda", "8:0", *[0] * 17)
    busy = before._replace(writes_completed=9, written_sectors=80, write_milliseconds=9)
    tracemalloc.start()
    recent = RecentActivity()
    for _ in range(310):
        recent.begin((0.1, 0.1), None)
        for number in range(_DRIVES):
            interval = disk_interval(before, busy, 1.0)
            assert interval is not None
            recent.record(f"sd{number}", interval, Verdict.NONE)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / 1e6


def _viewer(ours: programs.Program, seconds: float) -> Iterator[Row]:
    memory = ours.rss_megabytes()
    alone = _share(ours, seconds, "without a viewer", None)
    connection = http.client.HTTPConnection("127.0.0.1", ours.port)
    _get(connection, "/")
    watched = _share(ours, seconds, "with one viewer", connection)
    connection.close()
    added = 100 * (watched - alone)
    most = 100 * _MAX_SHARE * slowness()
    limit, is_met = f"<= {most:.2f}", added <= most
    yield f"CPU that one viewer adds, {_DRIVES} busy disks", added, 0.0, "% of core", limit, is_met
    yield "  growth of VmRSS by a viewer", ours.rss_megabytes() - memory, 0.0, "MB", "", None


def _share(
    ours: programs.Program, seconds: float, name: str, viewer: http.client.HTTPConnection | None
) -> float:
    """Returns the CPU time as a share of a core, with one scrape per 15 s."""
    before, start = ours.cpu_seconds(), time.monotonic()
    number, turn = 0, 0
    while (passed := time.monotonic() - start) < seconds:
        if not turn % _SCRAPE_SECONDS:
            ours.scrape()
            show_progress(f"page, {_DRIVES} disks, {name}: {passed:.0f} of {seconds:.0f} s")
        if viewer is not None:
            if not turn % _PAGE_SECONDS:
                _get(viewer, "/")
            number = json.loads(_get(viewer, f"/live.json?since={number}"))["n"]
        turn += 1
        time.sleep(max(0.0, start + turn - time.monotonic()))
    return (ours.cpu_seconds() - before) / (time.monotonic() - start)


def _get(connection: http.client.HTTPConnection, path: str) -> bytes:
    connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status}")
    return body
