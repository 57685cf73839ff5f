"""Compares this checkout with another one, such as that of the parent commit, in alternating pairs.

A pair runs both daemons at the same time on the same 24 simulated disks, so that a busy machine
slows both down; with 1,000 disks one after the other. The first one alternates. The result is the
ratio of the medians over all pairs. node_exporter runs in the same pairs.

Create the other checkout with `git worktree add --detach DIR COMMIT`, and compile it: without
compiled modules, its daemon starts later and takes more memory.
"""

import compileall
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench import programs, smart
from bench.kernel import Kernel
from bench.programs import CHECKOUT, Program
from bench.rows import Row, show_progress

_PAIRS = 5
#: Seconds of each pair with one scrape per 15 s, and number of scrapes that are one second apart.
_SECONDS, _SCRAPES = 300.0, 20
#: Number of scrapes without a pause per pair. The programs take turns, so that a busy moment of the
#: machine slows all of them down.
_BACK_TO_BACK = 2000
#: Seconds after the first poll of 1,000 drives.
_POLLING_SECONDS = 20.0

#: Maximum ratios to the other checkout, and to node_exporter; None means no limit.
_LIMITS: dict[str, tuple[float | None, float | None]] = {
    "CPU, 24 busy disks, one scrape per 15 s": (0.60, 2.5),
    "scrape p50, 24 busy disks, one per second": (None, 1.0),
    "scrape p99, 24 busy disks, back to back": (1.02, None),
    "VmRSS, 24 disks": (0.90, None),
    "start to first page, 24 disks": (0.80, None),
    "VmRSS, 1,000 disks": (0.70, None),
    "VmRSS, 1,000 drives by exec": (0.65, None),
}
#: Measured values, keyed by measurement, then by program: "ours", "other" or "theirs".
_Values = dict[str, dict[str, list[float]]]


def rows(other: Path, scale: float) -> Iterator[Row]:
    """Yields the ratios to the other checkout and to node_exporter.

    scale: shortens the pairs.
    """
    for checkout in (CHECKOUT, other):
        compileall.compile_dir(checkout / "exporter", quiet=1)
    values: _Values = {name: {"ours": [], "other": [], "theirs": []} for name in _LIMITS}
    for number in range(_PAIRS):
        order = [("ours", CHECKOUT), ("other", other)]
        if number % 2:
            order.reverse()
        show_progress(f"pair {number + 1} of {_PAIRS}")
        _busy_disks(values, order, scale)
        _many_disks(values, order)
        _polled_drives(values, order, scale)
    for name, (most, most_of_theirs) in _LIMITS.items():
        ours, before, theirs = (
            statistics.median(values[name][program] or [0.0])
            for program in ("ours", "other", "theirs")
        )
        unit = "MB" if "RSS" in name else "ms"
        if most is not None:
            yield f"{name}: parent", ours, before, unit, f"<= {most:.2f}", ours <= most * before
        if most_of_theirs is not None:
            met = ours <= most_of_theirs * theirs
            yield f"{name}: node_exporter", ours, theirs, unit, f"<= {most_of_theirs:.1f}", met


def _busy_disks(values: _Values, order: list[tuple[str, Path]], scale: float) -> None:
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kernel = stack.enter_context(Kernel(place / "host", 24, 24))
        running: dict[str, Program] = {}
        for name, checkout in order:
            start = time.monotonic()
            running[name] = stack.enter_context(
                programs.ours(kernel, place / name, checkout=checkout)
            )
            running[name].scrape()
            _add(values, "start to first page, 24 disks", name, time.monotonic() - start)
        running["theirs"] = stack.enter_context(programs.node_exporter(kernel))
        time.sleep(3)
        before = {name: program.cpu_seconds() for name, program in running.items()}
        for turn in range(max(1, int(_SECONDS * scale / 15))):
            for name in _turned(list(running), turn):
                running[name].scrape()
            time.sleep(15)
        for name, program in running.items():
            spent = program.cpu_seconds() - before[name]
            _add(values, "CPU, 24 busy disks, one scrape per 15 s", name, spent)
        for turn in range(_SCRAPES):
            for name in _turned(list(running), turn):
                _add(
                    values,
                    "scrape p50, 24 busy disks, one per second",
                    name,
                    running[name].scrape(),
                )
            time.sleep(1)
        _back_to_back(values, running, scale)
        for name, program in running.items():
            values["VmRSS, 24 disks"][name].append(program.rss_megabytes())


def _back_to_back(values: _Values, running: dict[str, Program], scale: float) -> None:
    durations: dict[str, list[float]] = {name: [] for name in running}
    for turn in range(int(_BACK_TO_BACK * scale)):
        for name in _turned(list(running), turn):
            durations[name].append(running[name].scrape())
    for name, seconds in durations.items():
        p99 = statistics.quantiles(seconds, n=100)[-1]
        _add(values, "scrape p99, 24 busy disks, back to back", name, p99)


def _many_disks(values: _Values, order: list[tuple[str, Path]]) -> None:
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kernel = stack.enter_context(Kernel(place / "host", 1000, 50))
        for name, checkout in order:
            with programs.ours(kernel, place / name, checkout=checkout) as program:
                values["VmRSS, 1,000 disks"][name].append(_rss_after_scrapes(program))


def _polled_drives(values: _Values, order: list[tuple[str, Path]], scale: float) -> None:
    with smart.simulated_drives(1000) as (drives, kernel, root):
        for name, checkout in order:
            drives.reset()
            with smart.polling_daemon(drives, kernel, root / name, checkout) as program:
                drives.await_ended(1000, 300.0)
                time.sleep(_POLLING_SECONDS * scale)
                values["VmRSS, 1,000 drives by exec"][name].append(_rss_after_scrapes(program))


def _rss_after_scrapes(program: Program) -> float:
    for _ in range(5):
        program.scrape()
        time.sleep(1.2)
    return program.rss_megabytes()


def _turned(names: list[str], turn: int) -> list[str]:
    return names[turn % len(names) :] + names[: turn % len(names)]


def _add(values: _Values, measurement: str, name: str, seconds: float) -> None:
    values[measurement][name].append(seconds * 1000)
