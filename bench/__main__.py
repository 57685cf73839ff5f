"""Runs the benchmarks and prints a table of results with their limits (`make bench`).

`--quick` shortens every phase. It is for tests of the benchmark itself; its results are not valid.
"""

import argparse
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench import against, log_pairs, logs, machine, page, probe, programs, smart, web
from bench.kernel import Kernel
from bench.machine import slowness
from bench.programs import Program
from bench.rows import Row, show_progress

#: Numbers of scrapes without a pause, and of scrapes with a pause of one second.
_BACK_TO_BACK = 2000
_PACED = 60
#: Scrapes without a pause alternate in blocks of this size. The first of a block renders the page,
#: and so does one per second. With small blocks, a slow node_exporter would make these over 1 %.
_BLOCK = 500
#: CPU time that sampling may use, as a share of a core, in addition to that of node_exporter.
_SAMPLING_SHARE = 0.001
#: Maximum p99 duration of a scrape, as a share of that of node_exporter.
_MAX_SCRAPE_RATIO = 0.3
#: Maximum resident memory with 24 drives.
_MAX_MEGABYTES = 27.0
#: Disks that have I/O in the runs with many disks.
_MAX_ACTIVE = 50
#: Maximum CPU time with 1,000 disks, as a percentage of a core.
_MAX_ACTIVE_PERCENT = 1.0


def main() -> int:
    """Returns 0 if all results are within their limits, else 1."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="use a tenth of the time")
    parser.add_argument("--smart", action="store_true", help="only SMART polls")
    parser.add_argument("--logs", action="store_true", help="only log pages of NVMe drives")
    parser.add_argument("--probe", action="store_true", help="only probes")
    parser.add_argument("--web", action="store_true", help="only scrapes during attacks")
    parser.add_argument("--page", action="store_true", help="only the live page")
    parser.add_argument(
        "--against",
        type=Path,
        metavar="DIR",
        help="only the ratios to another checkout, in alternating pairs (45 minutes; with --logs"
        " 20 minutes)",
    )
    chosen = parser.parse_args()
    scale = 0.1 if chosen.quick else 1.0
    parts = chosen.smart, chosen.logs, chosen.probe, chosen.web, chosen.page, chosen.against
    is_all = not any(parts)
    rows: list[Row] = [machine.row()]
    if is_all or chosen.smart:
        rows += smart.rows(scale)
    if is_all or (chosen.logs and not chosen.against):
        rows += logs.rows(scale)
    if is_all or chosen.probe:
        rows += probe.rows(scale)
    if is_all or chosen.web:
        rows += web.rows(scale)
    if is_all or chosen.page:
        rows += page.rows(scale)
    if chosen.against and chosen.logs:
        rows += log_pairs.rows(chosen.against.resolve(), scale)
    elif chosen.against:
        rows += against.rows(chosen.against.resolve(), scale)
    if is_all:
        rows += [
            *_scrapes(scale),
            *_five_minutes(300 * scale),
            *_many_disks(120 * scale),
            *_sizes(),
        ]
    width = max(len(name) for name, *_ in rows)
    python = f"{platform.python_implementation()} {platform.python_version()} of {sys.base_prefix}"
    print(f"\n{python:{width}}  {'result':>10}  {'reference':>10}  {'ratio':>7}  limit")
    for name, result, reference, unit, limit, is_met in rows:
        ratio = f"{result / reference:7.2f}" if reference else " " * 7
        compared = f"{reference:10.3f}" if reference else " " * 10
        verdict = "" if is_met is None else ("met" if is_met else "MISSED")
        print(f"{name:{width}}  {result:10.3f}  {compared}  {ratio}  {unit:9} {limit} {verdict}")
    return int(any(is_met is False for *_, is_met in rows))


@contextmanager
def _both(disks: int, active: int, *flags: str) -> Iterator[tuple[Program, Program]]:
    """Runs ssd-exporter and node_exporter on the same simulated disks."""
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kernel = stack.enter_context(Kernel(root / "host", disks, active))
        state = root / "state"
        ours = stack.enter_context(programs.ours(kernel, state, *flags))
        theirs = stack.enter_context(programs.node_exporter(kernel))
        time.sleep(3)
        yield ours, theirs


def _scrapes(scale: float) -> Iterator[Row]:
    with _both(24, 24) as (ours, theirs):
        for name, count, block, pause in (
            ("back to back", int(_BACK_TO_BACK * scale), _BLOCK, 0.0),
            ("one per second", int(_PACED * scale), 1, 1.0),
        ):
            show_progress(f"scrapes {name}")
            times: dict[str, list[float]] = {"ours": [], "theirs": []}
            for _ in range(max(1, count // block)):
                times["ours"] += [ours.scrape() for _ in range(min(block, count))]
                times["theirs"] += [theirs.scrape() for _ in range(min(block, count))]
                time.sleep(pause)
            for label, pick in (("p50", statistics.median), ("p99", _p99)):
                a, b = pick(times["ours"]) * 1000, pick(times["theirs"]) * 1000
                limit = f"p99 <= {_MAX_SCRAPE_RATIO}" if label == "p99" and not pause else ""
                yield (
                    f"scrape {label}, 24 busy disks, {name}",
                    a,
                    b,
                    "ms",
                    limit,
                    a <= _MAX_SCRAPE_RATIO * b if limit else None,
                )


def _five_minutes(seconds: float) -> Iterator[Row]:
    with _both(24, 24) as (ours, theirs):
        before = ours.cpu_seconds(), theirs.cpu_seconds()
        start = time.monotonic()
        while (passed := time.monotonic() - start) < seconds:
            show_progress(f"24 disks with one scrape per 15 s: {passed:.0f} of {seconds:.0f} s")
            ours.scrape()
            theirs.scrape()
            time.sleep(min(15.0, seconds - passed))
        passed = time.monotonic() - start
        a = ours.cpu_seconds() - before[0]
        b = theirs.cpu_seconds() - before[1]
        allowed = _SAMPLING_SHARE * passed * slowness() + b
        yield (
            f"CPU of {passed:.0f} s, 24 busy disks, one scrape per 15 s",
            a * 1000,
            allowed * 1000,
            "ms",
            f"<= {100 * _SAMPLING_SHARE * slowness():.2f} % of a core + node_exporter's",
            a <= allowed,
        )
        yield ("  of which node_exporter", b * 1000, 0.0, "ms", "", None)
        rss = ours.rss_megabytes()
        limit = f"<= {_MAX_MEGABYTES:.0f}"
        is_met = rss <= _MAX_MEGABYTES
        yield ("VmRSS, 24 disks", rss, theirs.rss_megabytes(), "MB", limit, is_met)


def _many_disks(seconds: float) -> Iterator[Row]:
    with _both(1000, _MAX_ACTIVE) as (ours, _):
        before = ours.cpu_seconds()
        start = time.monotonic()
        while (passed := time.monotonic() - start) < seconds:
            show_progress(f"1,000 disks, 50 active: {passed:.0f} of {seconds:.0f} s")
            time.sleep(min(10.0, seconds - passed))
        passed = time.monotonic() - start
        share = (ours.cpu_seconds() - before) / passed * 100
        most = _MAX_ACTIVE_PERCENT * slowness()
        name, limit = "CPU, 1,000 disks of which 50 active", f"<= {most:.2f}"
        yield (name, share, 0.0, "% of core", limit, share <= most)


def _sizes() -> Iterator[Row]:
    sizes = {}
    for disks in (24, 250, 500, 1000):
        show_progress(f"memory at {disks} disks")
        with _both(disks, min(disks, _MAX_ACTIVE)) as (ours, theirs):
            for _ in range(5):
                ours.scrape()
                theirs.scrape()
                time.sleep(1.2)
            sizes[disks] = ours.rss_megabytes()
            yield (
                f"VmRSS after scrapes, {disks} disks",
                sizes[disks],
                theirs.rss_megabytes(),
                "MB",
                f"<= {_MAX_MEGABYTES:.0f}" if disks == 24 else "",
                sizes[disks] <= _MAX_MEGABYTES if disks == 24 else None,
            )
    per_disk = (sizes[500] - sizes[24]) / 476, (sizes[1000] - sizes[500]) / 500
    yield (
        "memory per disk, 500 to 1,000 and 24 to 500 disks",
        per_disk[1] * 1024,
        per_disk[0] * 1024,
        "KB",
        "<= 1.5 times",
        per_disk[1] <= 1.5 * per_disk[0],
    )


def _p99(values: list[float]) -> float:
    return sorted(values)[max(0, int(len(values) * 0.99) - 1)]


if __name__ == "__main__":
    sys.exit(main())
