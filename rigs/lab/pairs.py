"""Compares a database with and without the exporter on the same host: `make pairs`.

MariaDB runs on a throttled disk, sysbench writes to it at full speed. Phases with and without the
exporter alternate in the order on, off, off, on, so that a drift of the machine affects both alike.
Each on phase is compared with the off phase of its pair. The control compares two off phases in a
row, which differ by chance only.

In the on phases the exporter is scraped every fifteen seconds, and the default probes start once:
five times as often as by default. The gate, which would refuse them on such a busy disk, is
disabled unless --default-gate is given; the guard is not.
"""

import argparse
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass
from math import expm1, log
from pathlib import Path
from statistics import fmean

from rigs.devices.slow_disk import SlowDisk
from rigs.devices.write_cache import mounted
from rigs.lab import records
from rigs.lab.mariadb import Tables, load, mariadb
from tests.end_to_end.daemon import Daemon

_MEMORY = Path("/dev/shm")
_SIZE_BYTES = 512 << 20
_TABLES = Tables(count=4, rows=50_000, threads=8)
_READ_IOPS, _WRITE_IOPS = 2000, 600

_SCRAPE_SECONDS = 15.0
#: Until the redo log is full, and the throughput depends on the writing of pages.
_WARM_UP_SECONDS = 300
#: Time between the start of a phase and that of its load, which settles caches and the redo log.
_SETTLE_SECONDS = 2.0

_CONFIG = """\
[probe]
directory = "{directory}"
first_delay_seconds = 10
"""
_NO_GATE = """\
[probe.gate]
host_uptime_seconds = 0
free_bytes = 0
free_ratio = 0
busy_ratio = 1
pressure_ratio = 1
cgroup_pressure_ratio = 1
"""

#: Loop devices are excluded by default.
_FLAGS = ("--collector.disk.device-exclude=^(z?ram|vd)",)

#: Resamplings of the bootstrap, and the bounds of its 95 % interval.
_RESAMPLINGS = 10_000
_LOWER, _UPPER = 0.025, 0.975


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase.

    is_on: the exporter ran. transactions: per second. p99_seconds: of the transactions. slow: the
    number of transactions of a second or more. idle_seconds: seconds without a transaction. probes:
    the number of completed probes.
    """

    is_on: bool
    transactions: float
    p99_seconds: float
    slow: int
    idle_seconds: int
    probes: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference with its 95 % interval, by bootstrap over the pairs."""

    mean: float
    lower: float
    upper: float


def order(pairs: int) -> list[bool]:
    """States of the phases: on, off, off, on, ..."""
    return [is_on for i in range(pairs) for is_on in ((True, False), (False, True))[i % 2]]


def pairs_of(phases: Sequence[Phase]) -> list[tuple[Phase, Phase]]:
    """The pairs (on, off), in the order of the run."""
    found = []
    for first, second in zip(phases[::2], phases[1::2], strict=False):
        if first.is_on != second.is_on:
            found.append((first, second) if first.is_on else (second, first))
    return found


def controls_of(phases: Sequence[Phase]) -> list[tuple[Phase, Phase]]:
    """Consecutive phases without the exporter, no phase twice; the second takes the part of on."""
    found, i = [], 0
    while i + 1 < len(phases):
        if phases[i].is_on or phases[i + 1].is_on:
            i += 1
        else:
            found.append((phases[i + 1], phases[i]))
            i += 2
    return found


def difference(values: Sequence[float]) -> Difference:
    """The mean of these differences."""
    chance = random.Random(1)
    means = sorted(fmean(chance.choices(values, k=len(values))) for _ in range(_RESAMPLINGS))
    bounds = (means[int(share * _RESAMPLINGS)] for share in (_LOWER, _UPPER))
    return Difference(fmean(values), *bounds)


def table(phases: Sequence[Phase]) -> str:
    """The result in Markdown."""
    rows = [
        "| | pairs | throughput | p99 | slow transactions | seconds without one |",
        "|---|---|---|---|---|---|",
    ]
    for name, pairs in (
        ("with exporter against without", pairs_of(phases)),
        ("control: without against without", controls_of(phases)),
    ):
        if not pairs:
            continue
        relative: tuple[Callable[[Phase], float], ...] = (
            lambda phase: phase.transactions,
            lambda phase: phase.p99_seconds,
        )
        cells = [
            _per_cent(difference([log(value(on) / value(off)) for on, off in pairs]))
            for value in relative
        ]
        counts: tuple[Callable[[Phase], int], ...] = (
            lambda phase: phase.slow,
            lambda phase: phase.idle_seconds,
        )
        for count in counts:
            totals = [sum(count(pair[i]) for pair in pairs) for i in (0, 1)]
            found = difference([count(on) - count(off) for on, off in pairs])
            cells.append(
                f"{totals[0]} against {totals[1]}; {found.mean:+.2f}"
                f" ({found.lower:+.2f} to {found.upper:+.2f}) per phase"
            )
        rows.append(f"| {name} | {len(pairs)} | {' | '.join(cells)} |")
    lines = ["", "| phases | transactions/s | p99 | probes |", "|---|---|---|---|"]
    for is_on, name in ((True, "with exporter"), (False, "without")):
        group = [phase for phase in phases if phase.is_on == is_on]
        if group:
            lines.append(
                f"| {len(group)} {name} | {fmean(p.transactions for p in group):.0f} |"
                f" {fmean(p.p99_seconds for p in group) * 1e3:.1f} ms |"
                f" {sum(p.probes for p in group)} |"
            )
    return "\n".join(rows + lines)


def _per_cent(logarithms: Difference) -> str:
    mean, lower, upper = (100 * expm1(each) for each in astuple(logarithms))
    return f"{mean:+.1f} % ({lower:+.1f} to {upper:+.1f})"


def run(
    pairs: int, controls: int, seconds: int, record: Callable[[Phase], None], gate: str
) -> None:
    """Runs the phases and passes each to `record`. `gate` is the section of the gate's settings.

    Raises:
        RigUnavailable: this machine cannot throttle a disk.
    """
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ssd-p-", dir=_MEMORY)))
        disk = stack.enter_context(SlowDisk(_MEMORY, _SIZE_BYTES))
        mountpoint = stack.enter_context(mounted(disk, place / "mnt"))
        (mountpoint / "probe").mkdir(mode=0o700)
        socket = stack.enter_context(mariadb(disk, mountpoint, place))
        _TABLES.create(socket)
        disk.throttle(read_iops=_READ_IOPS, write_iops=_WRITE_IOPS)
        load(socket, _TABLES, seconds=_WARM_UP_SECONDS)
        states = order(pairs)
        # Off phases in a row; those at the borders of pairs are controls already.
        states += [False] * max(0, 2 * (controls - pairs // 2))
        for is_on in states:
            with ExitStack() as phase:
                if is_on:
                    daemon = phase.enter_context(_exporter(place, disk, mountpoint, gate))
                time.sleep(_SETTLE_SECONDS)
                found = load(socket, _TABLES, seconds=seconds)
                probes = _probes(daemon) if is_on else 0
            record(
                Phase(
                    is_on,
                    fmean(found.per_second),
                    found.p99_seconds,
                    found.slow,
                    found.idle_seconds,
                    probes,
                )
            )


@contextmanager
def _exporter(place: Path, disk: SlowDisk, mountpoint: Path, gate: str) -> Iterator[Daemon]:
    """A daemon with probes, which is scraped; its probes share the limits of the database."""
    config = _CONFIG.format(directory=mountpoint / "probe") + gate
    daemon = Daemon(place / "exporter", *_FLAGS, config=config, prefix=disk.cgroup.prefix)
    ending = threading.Event()

    def scrape() -> None:
        while not ending.wait(_SCRAPE_SECONDS):
            daemon.page()

    with daemon:
        thread = threading.Thread(target=scrape, daemon=True)
        thread.start()
        try:
            yield daemon
        finally:
            ending.set()
            thread.join()


def _probes(daemon: Daemon) -> int:
    return int(sum(value for _, value in daemon.page().find("ssd_probe_runs_total")))


def main() -> None:
    """Runs the phases, or prints the table of an earlier run."""
    parser = argparse.ArgumentParser(prog="make pairs", description=__doc__)
    parser.add_argument("--pairs", type=int, default=20, help="pairs (default: 20)")
    parser.add_argument("--controls", type=int, default=20, help="control pairs (default: 20)")
    parser.add_argument("--seconds", type=int, default=60, help="of a phase (default: 60)")
    parser.add_argument(
        "--default-gate", action="store_true", help="probes start only when the gate permits them"
    )
    records.add_arguments(parser, Path("var/pairs.jsonl"))
    asked = parser.parse_args()
    if not asked.only_table:
        gate = "" if asked.default_gate else _NO_GATE
        with records.recording(asked.file) as record:
            run(asked.pairs, asked.controls, asked.seconds, record, gate)
    print(table(records.read(asked.file, Phase)))


if __name__ == "__main__":
    main()
