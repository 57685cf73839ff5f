"""Starts each probe beside a database, and measures how soon fio is gone: `make guard`.

MariaDB runs on a throttled disk, and sysbench writes to it at full speed. fio has the same limits.
The gate, which would refuse most of these probes, is disabled. A probe starts during the load, or
on the idle disk one second before the load. The result is the time from the moment at which both
run until fio is gone, and the transactions per second in this time, relative to those before.

With pressure information, the server is in a control group of version 2 of its own. Without, it is
in the root group, whose pressure includes the probe itself.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median

from exporter.config.gate_rules import GateRules
from exporter.config.profiles import PROFILES, ProfileSettings
from rigs.devices.cgroup import RigUnavailable
from rigs.devices.probed_disk import ALWAYS, ProbedDisk
from rigs.devices.slow_disk import SlowDisk
from rigs.devices.write_cache import mounted
from rigs.lab import records
from rigs.lab.mariadb import Tables, mariadb

_MEMORY = Path("/dev/shm")
_UNIFIED = Path("/sys/fs/cgroup/unified")
_SIZE_BYTES = 512 << 20

_TABLES = Tables(count=2, rows=20_000, threads=8)
_READ_IOPS, _WRITE_IOPS = 2000, 600

#: burst and slc write this much. Their own sizes do not fit; at the limit this takes 10 s.
_FILE_BYTES = 192 << 20
_WRITE_BPS = 20 << 20

_GUARD = GateRules()
_RULES = replace(
    ALWAYS,
    guard_queue=_GUARD.guard_queue,
    guard_pressure_ratio=_GUARD.guard_pressure_ratio,
    forced_after_skips=1_000_000,
)

#: Load before a probe, and rest before the next one, in seconds.
_LOAD_SECONDS, _REST_SECONDS = 2.0, 1.5
#: The probe that starts first runs alone for this time, in seconds.
_ALONE_SECONDS = 1.0
_LOOK_SECONDS = 0.02
_TIMEOUT_SECONDS = 30.0

#: Between two probes, so that each is due and the budget is renewed.
_MONTHS_SECONDS = 60 * 86_400.0

#: A program joins a group and executes another one.
_JOIN = '#!/bin/sh\necho $$ > {procs}\nexec fio "$@"\n'


@dataclass(frozen=True, slots=True)
class Case:
    """One probe.

    is_during: it started during the load, not before. with_pressure: the guard knows the pressure
    of the server. gone_seconds: until fio was gone. ratio: of the throughput in that time to that
    before. result: of the probe, or why it did not run. cpu_seconds: for how long some task of this
    machine waited for a CPU in that time.
    """

    profile: str
    is_during: bool
    with_pressure: bool
    gone_seconds: float | None
    ratio: float | None
    result: str
    cpu_seconds: float | None = None


class Work:
    """A sysbench that can be paused, and the number of its transactions."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        command = [*_TABLES.command(socket), "--time=0", "run"]
        argv = ["setpriv", "--pdeathsig=KILL", *command]
        self._process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def done(self) -> tuple[float, int]:
        """Time, and transactions so far."""
        argv = ["mariadb", "--no-defaults", f"--socket={self._socket}", "-BN"]
        said = subprocess.run(
            [*argv, "--execute=SHOW GLOBAL STATUS LIKE 'Com_commit'"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        return time.monotonic(), int(said.split()[1])


def per_second(before: tuple[float, int], after: tuple[float, int]) -> float:
    """Transactions per second between two readings."""
    return (after[1] - before[1]) / (after[0] - before[0])


def fio_runs(place: Path) -> bool:
    """True if a fio uses a file below this directory."""
    wanted = os.fsencode(place)
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            is_fio = (directory / "comm").read_text() == "fio\n"
            if is_fio and wanted in (directory / "cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False


def wait_until(is_there: Callable[[], bool]) -> bool:
    """Waits for a condition; False after the timeout."""
    until = time.monotonic() + _TIMEOUT_SECONDS
    while not is_there():
        if time.monotonic() >= until:
            return False
        time.sleep(_LOOK_SECONDS)
    return True


def one(
    disk: ProbedDisk, place: Path, work: Work, profile: str, *, is_during: bool, with_pressure: bool
) -> Case:
    """Runs one probe beside the load, which is paused before and after."""
    work.resume()
    begun = work.done()
    time.sleep(_LOAD_SECONDS)
    usual = per_second(begun, work.done())
    if not is_during:
        work.pause()
        time.sleep(_REST_SECONDS)
    runs = _runs(disk)
    probe = threading.Thread(target=disk.run, args=(_MONTHS_SECONDS,))
    probe.start()
    appeared = False
    while probe.is_alive() and not appeared:
        appeared = fio_runs(place)
    if not is_during:
        time.sleep(_ALONE_SECONDS)
        work.resume()
    before, waited = work.done(), _waited_for_cpu()
    seconds = ratio = cpu = None
    if appeared and fio_runs(place):
        wait_until(lambda: not fio_runs(place))
        gone = time.monotonic()
        seconds, cpu = gone - before[0], _waited_for_cpu() - waited
        ratio = per_second(before, work.done()) / usual
    probe.join()
    work.pause()
    time.sleep(_REST_SECONDS)
    result = " ".join(sorted(_new(runs, _runs(disk)))) or "refused"
    return Case(profile, is_during, with_pressure, seconds, ratio, result, cpu)


def _waited_for_cpu() -> float:
    some = Path("/proc/pressure/cpu").read_text().splitlines()[0]
    return int(some.rpartition("=")[2]) / 1e6


def _runs(disk: ProbedDisk) -> dict[tuple[str, ...], float]:
    return disk.values("ssd_probe_runs_total") | disk.values("ssd_probe_skipped_total")


def _new(before: dict[tuple[str, ...], float], after: dict[tuple[str, ...], float]) -> set[str]:
    return {labels[-1] for labels, value in after.items() if value > before.get(labels, 0.0)}


@contextmanager
def _group() -> Iterator[tuple[str, ...]]:
    """Prefix of a command that runs in a control group with pressure information."""
    if not (_UNIFIED / "io.pressure").exists():
        raise RigUnavailable(f"{_UNIFIED}: no pressure information of control groups")
    place = Path(tempfile.mkdtemp(prefix="ssd-guard-", dir=_UNIFIED))
    enter = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid()));"
    try:
        yield (
            *(sys.executable, "-c", f"{enter} os.execvp(sys.argv[2], sys.argv[2:])"),
            str(place / "cgroup.procs"),
        )
    finally:
        place.rmdir()


def run(
    profiles: Sequence[str], count: int, *, with_pressure: bool, record: Callable[[Case], None]
) -> None:
    """Runs each case `count` times.

    Raises:
        RigUnavailable: this machine cannot throttle a disk, or has no such control groups.
    """
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ssd-g-", dir=_MEMORY)))
        disk = stack.enter_context(SlowDisk(_MEMORY, _SIZE_BYTES))
        mountpoint = stack.enter_context(mounted(disk, place / "mnt"))
        prefix = stack.enter_context(_group()) if with_pressure else ()
        socket = stack.enter_context(mariadb(disk, mountpoint, place, prefix))
        _TABLES.create(socket)
        fio = place / "fio"
        fio.write_text(_JOIN.format(procs=disk.cgroup.path / "cgroup.procs"))
        fio.chmod(0o755)
        (mountpoint / "probe").mkdir(mode=0o700)
        work = Work(socket)
        stack.callback(work.end)
        for profile in profiles:
            settings = ProfileSettings()
            if PROFILES[profile].writes_whole_file:
                settings = ProfileSettings(size_bytes=_FILE_BYTES, interval_seconds=30 * 86_400)
            state = place / f"state-{profile}"
            probed = ProbedDisk(
                *(mountpoint, disk.device, state, {profile: settings}),
                names=(profile,),
                gate=_RULES,
                fio=str(fio),
                server=int((place / "pid").read_text()),
            )
            try:
                disk.free()
                # The first one fills the file.
                work.pause()
                probed.run()
                disk.throttle(read_iops=_READ_IOPS, write_iops=_WRITE_IOPS, write_bps=_WRITE_BPS)
                for i in range(2 * count):
                    found = one(
                        *(probed, mountpoint, work, profile),
                        is_during=bool(i % 2),
                        with_pressure=with_pressure,
                    )
                    record(found)
            finally:
                probed.monitor.probe.close()


def table(cases: Sequence[Case]) -> str:
    """The result in Markdown."""
    rows = [
        "| profile | PSI | started | runs | fio gone after | throughput | results | CPU pressure |",
        "|---|---|---|---|---|---|---|---|",
    ]
    keys = dict.fromkeys((c.profile, c.with_pressure, c.is_during) for c in cases)
    for profile, with_pressure, is_during in keys:
        key = (profile, with_pressure, is_during)
        group = [c for c in cases if (c.profile, c.with_pressure, c.is_during) == key]
        seconds = [c.gone_seconds for c in group if c.gone_seconds is not None]
        ratios = [c.ratio for c in group if c.ratio is not None]
        gone = f"{median(seconds):.1f} / {max(seconds):.1f} s" if seconds else "-"
        ratio = f"{fmean(ratios):.0%} (least {min(ratios):.0%})" if ratios else "-"
        results = {r: sum(c.result == r for c in group) for r in sorted({c.result for c in group})}
        cpu = [c.cpu_seconds for c in group if c.cpu_seconds is not None]
        share = f"{sum(cpu) / sum(seconds):.0%}" if seconds else "-"
        rows.append(
            f"| `{profile}` | {'yes' if with_pressure else 'no'} |"
            f" {'during' if is_during else 'before'} | {len(group)} | {gone} | {ratio} |"
            f" {', '.join(f'{n} {r}' for r, n in results.items())} | {share} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Runs all cases, or prints the table of an earlier run."""
    parser = argparse.ArgumentParser(prog="make guard", description=__doc__)
    parser.add_argument("--count", type=int, default=10, help="runs of a case (default: 10)")
    parser.add_argument("--profiles", nargs="+", default=list(PROFILES), choices=list(PROFILES))
    parser.add_argument("--pressure", nargs="+", default=["yes", "no"], choices=["yes", "no"])
    records.add_arguments(parser, Path("var/guard.jsonl"))
    asked = parser.parse_args()
    if not asked.only_table:
        with records.recording(asked.file) as record:
            for pressure in asked.pressure:
                is_known = pressure == "yes"
                run(asked.profiles, asked.count, with_pressure=is_known, record=record)
    print(table(records.read(asked.file, Case)))


if __name__ == "__main__":
    main()
