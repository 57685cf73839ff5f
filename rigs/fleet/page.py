"""Builds the page of a simulated host with NVMe drives, based on a golden page.

The variable SSD_DRIVES of the environment sets the number of drives; the default is four.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DRIVES = tuple(f"nvme{number}n1" for number in range(int(os.environ.get("SSD_DRIVES", "4"))))
#: Placeholder in serial numbers; each host replaces it with its name.
MARK = "FLEETHOST"

#: A golden page with one healthy and one failing drive.
_PAGE = Path(__file__).parents[2] / "tests" / "hosts" / "smart-nvme" / "expected.prom"
_HEALTHY = "nvme0n1"

#: Series of a healthy drive "D" that the golden page lacks. None: a timestamp in the recent past.
_MORE: tuple[tuple[str, float | None], ...] = (
    *((f'ssd_device_io_{what}_total{{device="D"}}', 0) for what in ("errors", "timeouts")),
    *(
        (f'ssd_smart_{what}_total{{device="D",serial="S"}}', 0)
        for what in (
            *("reallocated_sectors", "program_failures", "erase_failures"),
            "interface_errors",
        )
    ),
    *(
        (f'ssd_smart_wearout_eta_seconds{{device="D",serial="S",bound="{bound}"}}', 3e8)
        for bound in ("low", "mid", "high")
    ),
    ('ssd_smart_nand_written_bytes_total{device="D",serial="S"}', 1e12),
    ('ssd_smart_plp_healthy{device="D",serial="S"}', 1),
    ('ssd_disk_write_falloff_last_ratio{device="D"}', 0.9),
    ('ssd_disk_write_falloff_last_burst_bytes{device="D"}', 4e10),
    *(
        (f'ssd_disk_{op}_await_seconds_max{{device="D",window="1m"}}', 0.002)
        for op in ("read", "write")
    ),
    ('ssd_slc_burst_bytes_per_second{device="D"}', 2e9),
    ('ssd_slc_sustained_bytes_per_second{device="D"}', 1.5e9),
    ('ssd_slc_falloff_ratio{device="D"}', 0.75),
    ('ssd_slc_cache_bytes{device="D"}', 4e10),
    ('ssd_slc_probe_timestamp_seconds{device="D"}', None),
    ('ssd_probe_running{device="D"}', 0),
    ('ssd_probe_written_bytes_total{device="D"}', 1e9),
    *(
        (f'ssd_probe_write_budget_{what}{{device="D",period="{period}"}}', 1e9)
        for what in ("bytes", "remaining_bytes")
        for period in ("day", "life")
    ),
    *(
        (
            f'ssd_probe_last_latency_seconds{{device="D",profile="{profile}",op="{op}",stat="{stat}"}}',
            0.0004,
        )
        for profile, op in (
            *(("fsync", "write"), ("fsync", "sync")),
            *(("page_read", "read"), ("page_write", "write")),
        )
        for stat in ("mean", "p50", "p99", "p999", "max")
    ),
    *(
        (f'ssd_probe_latency_seconds_{part}{{device="D",profile="{profile}",op="{op}"{le}}}', 1e5)
        for profile, op in (
            *(("fsync", "write"), ("fsync", "sync")),
            *(("page_read", "read"), ("page_write", "write")),
        )
        for part, le in (
            *(("bucket", f',le="{edge}"') for edge in (*range(1, 18), "+Inf")),
            *(("sum", ""), ("count", "")),
        )
    ),
    *(
        (f'ssd_probe_{what}{{device="D",profile="{profile}"}}', value)
        for profile in ("fsync", "page_read", "page_write")
        for what, value in (
            *(("last_run_timestamp_seconds", None), ("last_success_timestamp_seconds", None)),
            *(("duration_seconds", 3), ("steady_state", 1), ("steady_range_ratio", 0.1)),
            *(("steady_slope_ratio", 0.01), ("deviation_ratio", 0.05)),
        )
    ),
    *(
        (f'ssd_probe_runs_total{{device="D",profile="{profile}",result="{result}"}}', 0)
        for profile in ("fsync", "page_read", "page_write")
        for result in ("success", "failed", "aborted", "timeout", "stuck")
    ),
    *(
        (f'ssd_probe_skipped_total{{device="D",profile="{profile}",reason="{reason}"}}', 0)
        for profile in ("fsync", "page_read", "page_write")
        for reason in ("busy", "pressure", "hot", "worn", "space", "rebuilding", "uptime")
    ),
)
#: The same for the host.
_MORE_OF_HOST: tuple[tuple[str, float | None], ...] = (
    ('ssd_cpu_softirq_max_ratio{window="1m"}', 0.1),
    ('ssd_cpu_iowait_max_ratio{window="1m"}', 0.1),
    ("ssd_smart_agent_heartbeat_timestamp_seconds", None),
    ("process_start_time_seconds", 1.7e9),
    ("process_cpu_seconds_total", 100),
    ("process_resident_memory_bytes", 3e7),
    ("process_virtual_memory_bytes", 3e8),
    ("process_open_fds", 20),
    ("process_max_fds", 1024),
)
#: Counters of a healthy host that do not increase.
_STILL = re.compile(r"^ssd_(smart|pcie|device|filesystem|probe|sampler_gaps|collector|softnet)_")
_FAULT = re.compile(r"stalled|saturated|falloff|timeout")


class Line(NamedTuple):
    """A series with its initial value and its increase per second.

    start: None for a timestamp, which is always in the recent past.
    """

    series: str
    start: float | None
    rate: float


def lines() -> tuple[Line, ...]:
    """Returns the series of the page of one host; those of a histogram follow each other."""

    def order(line: Line) -> tuple[str, str]:
        name, _, rest = line.series.partition("{")
        return _family(name), re.sub(r',?le="[^"]*"', "", rest)

    return tuple(sorted(_lines(), key=order))


def labels(series: str) -> tuple[tuple[str, str], ...]:
    """Returns name and labels of a series as pairs, sorted as in the database of Prometheus."""
    name, _, rest = series.partition("{")
    return (("__name__", name), *sorted(re.findall(r'(\w+)="([^"]*)"', rest)))


def page(page_lines: tuple[Line, ...], seconds: float, now: float) -> bytes:
    """The page text after `seconds`; serial numbers contain `MARK`.

    Only histograms have a type: Prometheus converts them to native ones if their type is known.
    """
    text = []
    typed = ""
    for line in page_lines:
        name = line.series.partition("{")[0]
        if name.endswith("_bucket") and typed != (typed := _family(name)):
            text.append(b"# TYPE %s histogram\n" % typed.encode())
        text.append(b"%s %.6f\n" % (line.series.encode(), value(line, seconds, now)))
    return b"".join(text)


def value(line: Line, seconds: float, now: float) -> float:
    """Value of a series `seconds` after the start, at the Unix time `now`."""
    return now - 5 if line.start is None else line.start + line.rate * seconds


def _lines() -> Iterator[Line]:
    text = _PAGE.read_text()
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    for series, value in re.findall(r"^(\w+(?:\{.*\})?) (\S+)$", text, re.MULTILINE):
        start = None if "_timestamp_seconds" in series else float(value)
        rate = _rate(series, kinds)
        device = re.search(r'device="([^"]*)"', series)
        if device is None:
            yield Line(series, start, rate)
        elif device[1] == _HEALTHY:
            marked = re.sub(r'serial="[^"]*"', 'serial="S"', series).replace(_HEALTHY, "D")
            for drive in DRIVES:
                yield Line(_with_drive(marked, drive), start, rate)
    for series, start in _MORE:
        for drive in DRIVES:
            yield Line(_with_drive(series, drive), start, 0.0)
    for series, start in _MORE_OF_HOST:
        yield Line(series, start, 0.0)


def _with_drive(series: str, drive: str) -> str:
    # Partitions and controllers start with the name of the drive.
    return series.replace('serial="S"', f'serial="{MARK}{drive}"').replace('"D', f'"{drive}')


def _family(name: str) -> str:
    return re.sub(r"_(bucket|sum|count)$", "", name)


def _rate(series: str, kinds: dict[str, str]) -> float:
    name = series.partition("{")[0]
    family = _family(name)
    if kinds.get(name, kinds.get(family)) not in ("counter", "histogram"):
        return 0.0
    if _STILL.match(name) or _FAULT.search(name):
        return 0.0
    if name.endswith("_sum") or "seconds_total" in name:
        return 0.0005
    return 1e6 if "bytes" in name else 1.0
