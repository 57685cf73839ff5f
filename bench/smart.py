"""Measures the duration, concurrency and cost of SMART polls, with a replacement for smartctl.

All drives are simulated, by default half of them NVMe and half SATA. They are also disks of
`bench.kernel`.
"""

import json
import mmap
import os
import statistics
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from bench import programs
from bench.kernel import Kernel
from bench.machine import slowness
from bench.programs import Program
from bench.rows import Row, show_progress
from rigs.devices import smart_reports

DRIVES = 24
#: Limits: concurrent smartctl processes, SMART series of a drive (median), CPU seconds of a poll.
_MAX_PROCESSES = 8
_MAX_SERIES = 60
_MAX_CPU_SECONDS = 0.001
#: Number of measurements of the first poll of all drives; their median counts.
_REPETITIONS = 5

#: Poll intervals: never during the benchmark, the shortest allowed one, and one at which 1,000
#: drives use half of two cores.
_NEVER, _OFTEN, _MANY = 86_400.0, 10.0, 20.0

#: Time without a smartctl process after which a round of polls has ended. It is longer than the
#: pause between two polls of one round.
_PAUSE_SECONDS = 0.3

#: struct tally of smartctl.c.
_TALLY = struct.Struct("5q")
_VERSION = "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)\n"


Report: TypeAlias = Callable[[int], dict[str, Any]]


class Drives:
    """The replacement for smartctl, its outputs, and the counters that it writes."""

    def __init__(self, root: Path, count: int, report: Report = smart_reports.of) -> None:
        self.count = count
        self.program = root / "smartctl"
        reports = root / "reports"
        reports.mkdir(parents=True)
        source = Path(__file__).with_name("smartctl.c")
        subprocess.run(["cc", "-O2", "-o", self.program, source], check=True)
        kinds = {}
        for number in range(count):
            answer = report(number)
            kinds[f"/dev/nvme{number}"] = answer["device"]["type"]
            _write(reports / f"nvme{number}", answer)
        _write(reports / "--scan-open", smart_reports.scan(kinds))
        (reports / "--version").write_text(_VERSION)
        self.paths = list(kinds)
        file = root / "tally"
        file.write_bytes(bytes(_TALLY.size))
        with file.open("r+b") as opened:
            self._tally = mmap.mmap(opened.fileno(), _TALLY.size)

    def reset(self) -> None:
        """Resets the counters."""
        self._tally[:] = bytes(_TALLY.size)

    @property
    def running(self) -> int:
        """Number of smartctl processes that run now."""
        return int(_TALLY.unpack(self._tally)[0])

    @property
    def most(self) -> int:
        """Highest number of concurrent smartctl processes."""
        return int(_TALLY.unpack(self._tally)[1])

    @property
    def ended(self) -> int:
        """Number of smartctl processes that have polled a drive and ended."""
        return int(_TALLY.unpack(self._tally)[2])

    @property
    def seconds(self) -> float:
        """Seconds between the start of the first and the end of the last process."""
        _, _, _, first, last = _TALLY.unpack(self._tally)
        return float(last - first) / 1e9

    def await_ended(self, count: int, seconds: float = 60.0) -> None:
        until = time.monotonic() + seconds
        while self.ended < count:
            if time.monotonic() > until:
                raise RuntimeError(f"{self.ended} of {count} drives were polled")
            time.sleep(0.005)

    def all_at_once(self) -> float:
        """Seconds to run smartctl for all drives at once, without a limit and without parsing."""
        self.reset()
        program = str(self.program)
        with open(os.devnull, "wb") as nowhere:
            actions = [(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)]
            pids = [
                os.posix_spawn(program, [program, path], {}, file_actions=actions)
                for path in self.paths
            ]
        for pid in pids:
            os.waitpid(pid, 0)
        return self.seconds


def rows(scale: float) -> Iterator[Row]:
    """Returns all results; `scale` shortens long measurements."""
    yield from _collections(max(1, int(_REPETITIONS * scale)))
    yield from _daemon_of_24(60 * scale)
    yield from _growth(40 * scale)
    yield from _agent(25 * scale)


def _collections(times: int) -> Iterator[Row]:
    """Measures the first poll of all drives, which a poller runs at its start."""
    taken: dict[str, list[float]] = {"at once": [], "daemon": [], "agent": []}
    most = 0
    with simulated_drives(DRIVES) as (drives, kernel, root):
        for number in range(times):
            show_progress(f"24 drives, {number + 1} of {times}")
            taken["at once"].append(drives.all_at_once())
            for name, start in (("daemon", _daemon), ("agent", _smart_agent)):
                drives.reset()
                with start(drives, kernel, root / f"{name}{number}", _NEVER):
                    drives.await_ended(DRIVES)
                taken[name].append(drives.seconds)
                most = max(most, drives.most)
    at_once = statistics.median(taken["at once"]) * 1000
    for name in ("daemon", "agent"):
        ours = statistics.median(taken[name]) * 1000
        met = ours <= 1.3 * at_once
        yield f"24 drives polled, {name} and all at once", ours, at_once, "ms", "<= 1.3", met
    yield "concurrent smartctl processes, maximum", most, 0.0, "", "<= 8", most <= _MAX_PROCESSES


def _daemon_of_24(seconds: float) -> Iterator[Row]:
    with simulated_drives(DRIVES) as (drives, kernel, root):
        with _idle_and_busy(drives, kernel, root, _OFTEN) as (idle, busy):
            cpu = _cpu_per_poll(drives, idle, busy, seconds, "24 drives")
            most = _MAX_CPU_SECONDS * slowness()
            limit = f"<= {most * 1000:.2f}"
            yield "CPU per poll, 24 drives", cpu * 1000, 0.0, "ms", limit, cpu <= most
        # A process that a daemon killed when it ended is still counted as running.
        drives.reset()
        with _daemon(drives, kernel, root / "scraped", _OFTEN) as daemon:
            time.sleep(3)
            during, without = _scrapes(drives, daemon, max(5, int(seconds / 2)))
            met = during <= 1.2 * without
            name = "scrape p50, during and between polls"
            yield name, during * 1000, without * 1000, "ms", "<= 1.2", met
            series = _series_per_drive(daemon)
            yield "SMART series per drive, median", series, 0.0, "", "<= 60", series <= _MAX_SERIES
            rss = daemon.rss_megabytes()
            yield "VmRSS, 24 drives by exec", rss, 0.0, "MB", "<= 32", rss <= 32


def _growth(seconds: float) -> Iterator[Row]:
    cpu = {}
    for count in (100, 1000):
        with simulated_drives(count) as (drives, kernel, root):
            with _idle_and_busy(drives, kernel, root, _MANY) as (idle, busy):
                cpu[count] = _cpu_per_poll(drives, idle, busy, seconds, f"{count} drives")
                for _ in range(3):
                    busy.scrape()
                    time.sleep(1.2)
                rss = busy.rss_megabytes()
            bar, met = ("<= 39", rss <= 39) if count == 100 else ("", None)
            yield f"VmRSS, {count} drives by exec", rss, 0.0, "MB", bar, met
    met = cpu[1000] <= 1.5 * cpu[100]
    name = "CPU per poll, 1,000 drives and 100"
    yield name, cpu[1000] * 1000, cpu[100] * 1000, "ms", "<= 1.5", met


def _agent(seconds: float) -> Iterator[Row]:
    with ExitStack() as stack:
        drives, kernel, root = stack.enter_context(simulated_drives(DRIVES))
        agent = stack.enter_context(_smart_agent(drives, kernel, root / "agent", _OFTEN))
        show_progress("the agent's memory")
        drives.await_ended(DRIVES)
        time.sleep(seconds)
        rss = programs.rss_megabytes(agent.pid)
    yield "VmRSS of the agent, 24 drives", rss, 0.0, "MB", "<= 20", rss <= 20


def _cpu_per_poll(drives: Drives, idle: Program, busy: Program, seconds: float, what: str) -> float:
    """CPU seconds per poll: those of a polling daemon minus those of one that does not poll."""
    before = busy.cpu_seconds(), idle.cpu_seconds(), drives.ended
    start = time.monotonic()
    while (passed := time.monotonic() - start) < seconds:
        show_progress(f"CPU of polling {what}: {passed:.0f} of {seconds:.0f} s")
        time.sleep(min(5.0, seconds - passed))
    polls = drives.ended - before[2]
    return (busy.cpu_seconds() - before[0] - (idle.cpu_seconds() - before[1])) / polls


def _scrapes(drives: Drives, daemon: Program, count: int) -> tuple[float, float]:
    """Median seconds of a scrape while smartctl runs, and of one while it does not.

    A scrape processes the samples since the previous scrape. Both kinds of scrapes therefore start
    equally long after an unmeasured one.
    """
    during: list[float] = []
    without: list[float] = []
    for number in range(count):
        show_progress(f"scrapes during polls: {number} of {count}")
        start = _start_in_pause(drives, daemon)
        _wait_for_poll(drives)
        waited = time.monotonic() - start
        during.append(daemon.scrape())
        _start_in_pause(drives, daemon)
        # Shortly before the next poll; polls have a constant interval.
        time.sleep(max(0.0, waited - _PAUSE_SECONDS))
        _wait_for_pause(drives, 0.0)
        without.append(daemon.scrape())
    return statistics.median(during), statistics.median(without)


def _start_in_pause(drives: Drives, daemon: Program) -> float:
    """Scrapes once, unmeasured, after all polls have ended; returns the time of the scrape."""
    _wait_for_poll(drives)
    _wait_for_pause(drives, _PAUSE_SECONDS)
    now = time.monotonic()
    daemon.scrape()
    return now


def _wait_for_poll(drives: Drives) -> None:
    _until(lambda: drives.running > 0, "no drive is polled")


def _wait_for_pause(drives: Drives, seconds: float) -> None:
    polled_at = time.monotonic()

    def is_paused() -> bool:
        nonlocal polled_at
        if drives.running:
            polled_at = time.monotonic()
            return False
        return time.monotonic() - polled_at >= seconds

    _until(is_paused, "polls never pause")


def _until(is_true: Callable[[], bool], otherwise: str) -> None:
    until = time.monotonic() + 30
    while not is_true():
        if time.monotonic() > until:
            raise RuntimeError(otherwise)
        time.sleep(0.001)


def _series_per_drive(daemon: Program) -> float:
    counted: dict[str, int] = {}
    for line in daemon.page().splitlines():
        if line.startswith(("ssd_smart_", "ssd_ata_", "ssd_device_up")) and 'device="' in line:
            device = line.split('device="', 1)[1].split('"', 1)[0]
            counted[device] = counted.get(device, 0) + 1
    return statistics.median(counted.values())


@contextmanager
def simulated_drives(
    count: int, report: Report = smart_reports.of
) -> Iterator[tuple[Drives, Kernel, Path]]:
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kernel = stack.enter_context(Kernel(root / "host", count, min(count, 50)))
        yield Drives(root / "smartctl.d", count, report), kernel, root


@contextmanager
def polling_daemon(
    drives: Drives, kernel: Kernel, directory: Path, checkout: Path
) -> Iterator[Program]:
    """Runs the daemon of a checkout, which polls all drives itself every 20 seconds."""
    flags = _flags(drives, directory, _MANY, "exec")
    with programs.ours(kernel, directory / "state", *flags, checkout=checkout) as program:
        yield program


@contextmanager
def _idle_and_busy(
    drives: Drives, kernel: Kernel, root: Path, interval: float
) -> Iterator[tuple[Program, Program]]:
    """Two daemons with the same drives, after the first poll of each; only one polls further."""
    with ExitStack() as stack:
        daemons = []
        for name, seconds in (("idle", _NEVER), ("busy", interval)):
            before = drives.ended
            daemons.append(stack.enter_context(_daemon(drives, kernel, root / name, seconds)))
            drives.await_ended(before + drives.count)
        time.sleep(3)
        yield daemons[0], daemons[1]


@contextmanager
def _daemon(drives: Drives, kernel: Kernel, directory: Path, interval: float) -> Iterator[Program]:
    flags = _flags(drives, directory, interval, "exec")
    with programs.ours(kernel, directory / "state", *flags) as program:
        yield program


@contextmanager
def _smart_agent(
    drives: Drives, kernel: Kernel, directory: Path, interval: float
) -> Iterator["subprocess.Popen[bytes]"]:
    flags = _flags(drives, directory, interval, "directory")
    argv = [*programs.LAUNCHER, "smart-agent", f"--path.sysfs={kernel.sys}", *flags]
    process = subprocess.Popen([*argv, "--log.level=error"], stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(10)


def _flags(drives: Drives, directory: Path, interval: float, source: str) -> Sequence[str]:
    directory.mkdir(parents=True)
    config = directory / "config.toml"
    config.write_text(
        f'[smart]\nsource = "{source}"\ndirectory = "{directory}/run"\n'
        f"nvme_interval_seconds = {interval}\ninterval_seconds = {interval}\n"
    )
    return f"--config.file={config}", f"--smartctl.path={drives.program}"


def _write(file: Path, report: object) -> None:
    file.write_text(json.dumps(report, separators=(",", ":")) + "\n")
