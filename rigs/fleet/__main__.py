"""Runs the comparison and the measurements (`make fleet`)."""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bench.machine import slowness
from bench.rows import show_progress
from rigs.fleet import agreement, cost, engines, faults, page, pages, rule_files, tables
from rigs.fleet import targets as fleet_targets
from rigs.fleet.cost import Cost
from rigs.fleet.thanos_build import built
from rigs.go_programs import installed
from stack.programs import StackError

_ENGINES = ("prometheus", "thanos")
#: Only with `--engine`: Prometheus 3 with classic and with native histograms.
_CLASSIC, _NATIVE = "prometheus-3", "prometheus-3-native"
_PROMETHEUS_3 = ("github.com/prometheus/prometheus/cmd/prometheus", "v0.316.0")
_STEPS = ("check", "compare", "measure")
#: Priority of this process and its children; only root may set a negative value.
_NICE = -10
#: Share of the badness of a process for which the kernel selects it first when memory is short.
_OOM_SCORE = "500"


def main() -> int:
    """Prints the result.

    Returns 0 if the alerts of both engines are equal and all groups are within the limit, 1 if not,
    and 2 if a program does not run.
    """
    arguments = _arguments()
    # Child processes inherit both. The priority reduces the effect of other load.
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
    os.environ["GOMAXPROCS"] = "2"
    is_met = True
    try:
        thanos = None
        if "thanos" in arguments.engine:
            show_progress("building Thanos (minutes, the first time only)")
            thanos = built()
        if thanos is not None and "check" in arguments.step:
            is_met &= _rules_checked(thanos)
        if thanos is not None and "compare" in arguments.step:
            is_met &= _agree(thanos)
        if "measure" in arguments.step:
            is_met &= _measure(thanos, arguments)
    except StackError as e:
        sys.stderr.write(f"make fleet: {e}\n")
        return 2
    return int(not is_met)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fleet", description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=240, help="duration of a measurement")
    parser.add_argument("--scrape", default="60s", help="scrape interval of a measurement")
    parser.add_argument(
        "--engine",
        action="append",
        choices=(*_ENGINES, _CLASSIC, _NATIVE),
        help="only this engine (default: prometheus and thanos)",
    )
    parser.add_argument(
        "--step", action="append", choices=_STEPS, help="only this step (default: all)"
    )
    arguments = parser.parse_args()
    arguments.engine = arguments.engine or list(_ENGINES)
    arguments.step = arguments.step or list(_STEPS)
    return arguments


def _rules_checked(thanos: Path) -> bool:
    """Runs `thanos tools rules-check` on the rule files; prints its output if it fails."""
    flags = [f"--rules={path}" for path in rule_files.paths()]
    done = subprocess.run(
        [thanos, "tools", "rules-check", *flags],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    print(f"thanos tools rules-check: exit status {done.returncode}, {len(flags)} files")
    if done.returncode:
        print(done.stdout + done.stderr)
    return done.returncode == 0


def _agree(thanos: Path) -> bool:
    with tempfile.TemporaryDirectory(prefix="ssd-fleet-") as place, pages.served() as served:
        found = agreement.compared(thanos, served, Path(place))
    by_host = [
        (agreement.expected(target, fault), fault)
        for target, fault in faults.hosts().items()
        if fault is not None
    ]
    comparison = found.comparison
    print(f"\n{tables.faults(comparison, by_host)}\n")
    print(
        f"{len(comparison.seen())} different alerts fired,"
        f" up to {comparison.common} on both engines at the same time;"
        f" longest time on one engine only: {comparison.longest:.0f} s"
        f" (tolerance {comparison.tolerance:.0f} s); differences: {len(comparison.differences)}"
    )
    for line in (*map(str, comparison.differences), *found.missing, *found.broken):
        print(f"DIFFERENCE: {line}")
    return found.is_equal


def _measure(thanos: Path | None, arguments: argparse.Namespace) -> bool:
    targets = fleet_targets.fleet(arguments.hosts)
    # Before the engines use the CPU.
    most_share = cost.MAX_SHARE * slowness()
    costs: list[Cost] = []
    failed = None
    for name in arguments.engine:
        with tempfile.TemporaryDirectory(prefix="ssd-fleet-") as place, pages.served() as served:
            work = engines.Work(targets, served.port, arguments.scrape, native=name == _NATIVE)
            directory = Path(place) / name
            binary = str(installed(*_PROMETHEUS_3)) if name in {_CLASSIC, _NATIVE} else ""
            show_progress(f"{name}: writing 30 days of history")
            running = (
                engines.running_thanos(thanos, work, directory)
                if name == "thanos" and thanos is not None
                else engines.running_prometheus(
                    work, directory, name=name.capitalize(), binary=binary
                )
            )
            try:
                with running as engine:
                    costs.append(cost.measured(engine, len(targets), arguments.seconds, most_share))
            except StackError as e:
                # The result of the other engine is printed first.
                failed = e
    _print(costs, arguments)
    if failed is not None:
        raise failed
    return all(each.is_met for each in costs)


def _print(costs: Sequence[Cost], arguments: argparse.Namespace) -> None:
    for each in costs:
        print(
            f"\n{each.engine}: {arguments.hosts} hosts of {len(page.DRIVES)} drives,"
            f" {each.series:.0f} series, scrape interval {arguments.scrape},"
            f" {os.cpu_count()} cores, load average {each.load:.1f};"
            f" a group may use {each.most_share:.0%} of its interval;"
            f" {each.alerts:.0f} alerts pending or firing ({time.strftime('%Y-%m-%d')})"
        )
    print(f"\n{tables.parts(costs)}\n\n{tables.groups(costs)}")


if __name__ == "__main__":
    # Like Ctrl-C: stops child processes and removes temporary files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
