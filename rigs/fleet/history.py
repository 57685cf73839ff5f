"""Writes 30 days of the series that rules read into the database of Prometheus."""

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rigs.fleet import page, tsdb_block
from rigs.fleet.page import DRIVES, Line
from rigs.fleet.targets import Target
from rigs.fleet.tsdb_block import Flat

#: Interval of scraped samples and of recorded ones, in milliseconds.
_SCRAPE, _RULE = 15_000, 240_000
_DAY = 86_400_000

#: Scraped metrics by the number of days that rules read.
_SCRAPED = {
    1: (
        *("ssd_disk_saturated_seconds_total", "ssd_exporter_build_info", "ssd_device_up"),
        *(
            "ssd_filesystem_errors_total",
            "ssd_pcie_errors_total",
            "ssd_smart_interface_errors_total",
        ),
        *("ssd_smart_unsafe_shutdowns_total", "ssd_smart_over_temperature_seconds_total"),
        *("ssd_disk_read_await_seconds_bucket", "ssd_disk_write_await_seconds_bucket"),
        *("ssd_disk_read_await_seconds_count", "ssd_disk_write_await_seconds_count"),
        *("ssd_io_bottleneck", "ssd_probe_skipped_total", "ssd_probe_runs_total"),
        *("ssd_disk_write_falloff_events_total", "ssd_disk_io_time_seconds_total"),
        *("ssd_device_io_timeouts_total", "ssd_device_io_errors_total", "ssd_probe_running"),
    ),
    7: (
        *("ssd_smart_media_errors_total", "ssd_smart_reallocated_sectors_total"),
        *("ssd_smart_program_failures_total", "ssd_smart_erase_failures_total"),
        "ssd_link_speed_bytes_per_second",
    ),
    30: ("ssd_smart_spare_ratio", "ssd_slc_burst_bytes_per_second"),
}
_P99 = "instance_device:ssd_probe_p99_seconds"
#: Recorded series and their constant value, by the number of days that rules read.
_RECORDED = {
    1: (),
    7: ((f"{_P99}:last", 0.0004),),
    30: (
        (f"{_P99}:median7d", 0.0004),
        ("instance_device_serial:ssd_smart_media_errors:growth1d", 0.0),
    ),
}


def write(
    directory: Path,
    targets: Sequence[Target],
    lines: tuple[Line, ...],
    thanos: Mapping[str, str] | None = None,
) -> None:
    """Writes three blocks: days 30 to 7, days 7 to 1, and the last day.

    thanos: external labels of the blocks for a bucket of Thanos; None for a Prometheus.
    """
    end = int(time.time() * 1000) // _RULE * _RULE
    edges = (30, 7, 1, 0)
    for number, (oldest, newest) in enumerate(itertools.pairwise(edges), 1):
        wanted = [days for days in (1, 7, 30) if days >= oldest]
        series = _series(targets, lines, wanted)
        begin, until = end - oldest * _DAY, end - newest * _DAY
        tsdb_block.write(directory, number, begin, until, series, thanos=thanos)


def _series(
    targets: Sequence[Target], lines: tuple[Line, ...], wanted: Sequence[int]
) -> Iterator[Flat]:
    names = {name for days in wanted for name in _SCRAPED[days]}
    scraped = [
        (page.labels(line.series), line.start or 0.0)
        for line in lines
        if line.series.partition("{")[0] in names
    ]
    recorded = [row for days in wanted for row in _RECORDED[days]]
    for each in targets:
        host, target = each.instance, each.labels()
        for labels, value in scraped:
            own = ((name, text.replace(page.MARK, host)) for name, text in labels)
            yield Flat(tuple(sorted((*own, *target))), value, _SCRAPE)
        for name, value in recorded:
            for labels in _of_drives(name, host):
                yield Flat(tuple(sorted((("__name__", name), *labels, *target))), value, _RULE)


def _of_drives(name: str, host: str) -> Iterator[tuple[tuple[str, str], ...]]:
    for drive in DRIVES:
        if name.startswith(_P99):
            yield from (
                (("device", drive), ("profile", profile)) for profile in ("fsync", "page_read")
            )
        else:
            yield (("device", drive), ("serial", f"{host}{drive}"))
