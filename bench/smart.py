"""Asking drives: how long, how many at a time, at what cost; with a stand-in for smartctl.

Each drive is made up, half of them NVMe, half SATA, and is a disk of `bench.kernel` besides.
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

from bench import programs
from bench.kernel import Kernel
from bench.programs import Program
from bench.rows import Row, say
from tests.rig import smart_reports

DRIVES = 24
_PROCESSES = 8
_MOST_SERIES = 60
_CPU_SECONDS = 0.001
_AGAIN = 5

#: Never again while the bench runs; the shortest interval that the settings take; and one at
#: which 1,000 drives leave half of two cores.
_NEVER, _OFTEN, _MANY = 86_400.0, 10.0, 20.0

#: Between two drives of one round pass less.
_SILENT_SECONDS = 0.3

_TALLY = struct.Struct("5q")
_VERSION = "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)\n"


class Drives:
    """The stand-in, what it prints, and its own tally of how it ran."""

    def __init__(self, root: Path, count: int) -> None:
        self.count = count
        self.program = root / "smartctl"
        reports = root / "reports"
        reports.mkdir(parents=True)
        source = Path(__file__).with_name("smartctl.c")
        subprocess.run(["cc", "-O2", "-o", self.program, source], check=True)
        kinds = {}
        for number in range(count):
            report = smart_reports.of(number)
            kinds[f"/dev/nvme{number}"] = report["device"]["type"]
            _write(reports / f"nvme{number}", report)
        _write(reports / "--scan-open", smart_reports.scan(kinds))
        (reports / "--version").write_text(_VERSION)
        self.paths = list(kinds)
        file = root / "tally"
        file.write_bytes(bytes(_TALLY.size))
        with file.open("r+b") as opened:
            self._tally = mmap.mmap(opened.fileno(), _TALLY.size)

    def forget(self) -> None:
        """Count from the start."""
        self._tally[:] = bytes(_TALLY.size)

    @property
    def running(self) -> int:
        return int(_TALLY.unpack(self._tally)[0])

    @property
    def most(self) -> int:
        """So many ran at a time."""
        return int(_TALLY.unpack(self._tally)[1])

    @property
    def ended(self) -> int:
        return int(_TALLY.unpack(self._tally)[2])

    @property
    def seconds(self) -> float:
        """From when the first began to when the last had ended."""
        _, _, _, first, last = _TALLY.unpack(self._tally)
        return float(last - first) / 1e9

    def await_ended(self, count: int, seconds: float = 60.0) -> None:
        until = time.monotonic() + seconds
        while self.ended < count:
            if time.monotonic() > until:
                raise RuntimeError(f"{self.ended} of {count} drives were asked")
            time.sleep(0.005)

    def all_at_once(self) -> float:
        """Seconds for every drive, with nothing that holds back or looks at what they say."""
        self.forget()
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
    """All figures; `scale` shortens what takes long."""
    yield from _collections(max(1, int(_AGAIN * scale)))
    yield from _daemon_of_24(60 * scale)
    yield from _growth(40 * scale)
    yield from _agent(25 * scale)


def _collections(times: int) -> Iterator[Row]:
    """At its start a poller asks every drive at once."""
    taken: dict[str, list[float]] = {"at once": [], "daemon": [], "agent": []}
    most = 0
    with _drives(DRIVES) as (drives, kernel, root):
        for number in range(times):
            say(f"24 drives, {number + 1} of {times}")
            taken["at once"].append(drives.all_at_once())
            for name, start in (("daemon", _daemon), ("agent", _smart_agent)):
                drives.forget()
                with start(drives, kernel, root / f"{name}{number}", _NEVER):
                    drives.await_ended(DRIVES)
                taken[name].append(drives.seconds)
                most = max(most, drives.most)
    plan = statistics.median(taken["at once"]) * 1000
    for name in ("daemon", "agent"):
        ours = statistics.median(taken[name]) * 1000
        met = ours <= 1.3 * plan
        yield f"24 drives asked, {name} and all at once", ours, plan, "ms", "<= 1.3", met
    yield "smartctl at a time, at most", most, 0.0, "", "<= 8", most <= _PROCESSES


def _daemon_of_24(seconds: float) -> Iterator[Row]:
    with _drives(DRIVES) as (drives, kernel, root):
        with _idle_and_busy(drives, kernel, root, _OFTEN) as (idle, busy):
            cpu = _cpu_a_poll(drives, idle, busy, seconds, "24 drives")
            yield "CPU a drive and poll, 24 drives", cpu * 1000, 0.0, "ms", "<= 1", cpu <= 0.001
        with _daemon(drives, kernel, root / "scraped", _OFTEN) as daemon:
            time.sleep(3)
            during, without = _scrapes(drives, daemon, max(5, int(seconds / 2)))
            met = during <= 1.2 * without
            name = "scrape p50, while drives are asked and while not"
            yield name, during * 1000, without * 1000, "ms", "<= 1.2", met
            series = _series_a_drive(daemon)
            yield "SMART series a drive, median", series, 0.0, "", "<= 60", series <= _MOST_SERIES
            rss = daemon.rss_megabytes()
            yield "VmRSS, 24 drives by exec", rss, 0.0, "MB", "<= 34", rss <= 34


def _growth(seconds: float) -> Iterator[Row]:
    cpu = {}
    for count in (100, 1000):
        with _drives(count) as (drives, kernel, root):
            with _idle_and_busy(drives, kernel, root, _MANY) as (idle, busy):
                cpu[count] = _cpu_a_poll(drives, idle, busy, seconds, f"{count} drives")
                for _ in range(3):
                    busy.scrape()
                    time.sleep(1.2)
                rss = busy.rss_megabytes()
            bar, met = ("<= 42", rss <= 42) if count == 100 else ("", None)
            yield f"VmRSS, {count} drives by exec", rss, 0.0, "MB", bar, met
    met = cpu[1000] <= 1.5 * cpu[100]
    name = "CPU a drive and poll, 1,000 drives and 100"
    yield name, cpu[1000] * 1000, cpu[100] * 1000, "ms", "<= 1.5", met


def _agent(seconds: float) -> Iterator[Row]:
    with ExitStack() as stack:
        drives, kernel, root = stack.enter_context(_drives(DRIVES))
        agent = stack.enter_context(_smart_agent(drives, kernel, root / "agent", _OFTEN))
        say("the agent's memory")
        drives.await_ended(DRIVES)
        time.sleep(seconds)
        rss = programs.rss_megabytes(agent.pid)
    yield "VmRSS of the agent, 24 drives", rss, 0.0, "MB", "<= 20", rss <= 20


def _cpu_a_poll(drives: Drives, idle: Program, busy: Program, seconds: float, what: str) -> float:
    """CPU seconds of the process itself, less what one takes that asks nobody."""
    before = busy.cpu_seconds(), idle.cpu_seconds(), drives.ended
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < seconds:
        say(f"CPU of asking {what}: {passed:.0f} of {seconds:.0f} s")
        time.sleep(min(5.0, seconds - passed))
    polls = drives.ended - before[2]
    return (busy.cpu_seconds() - before[0] - (idle.cpu_seconds() - before[1])) / polls


def _scrapes(drives: Drives, daemon: Program, count: int) -> tuple[float, float]:
    """p50 while a smartctl runs and while none does; of pages that nobody has asked for before.

    A page works through the seconds since the one before it: as many for either.
    """
    during: list[float] = []
    without: list[float] = []
    for number in range(count):
        say(f"scrapes while drives are asked: {number} of {count}")
        begin = _begin_in_silence(drives, daemon)
        _await_asked(drives)
        waited = time.monotonic() - begin
        during.append(daemon.scrape())
        _begin_in_silence(drives, daemon)
        # Just before drives are asked again, which they are at a steady pace.
        time.sleep(max(0.0, waited - _SILENT_SECONDS))
        _await_silence(drives, 0.0)
        without.append(daemon.scrape())
    return statistics.median(during), statistics.median(without)


def _begin_in_silence(drives: Drives, daemon: Program) -> float:
    """When a page was taken for which nothing is counted, after all that were to be asked were."""
    _await_asked(drives)
    _await_silence(drives, _SILENT_SECONDS)
    now = time.monotonic()
    daemon.scrape()
    return now


def _await_asked(drives: Drives) -> None:
    _until(lambda: drives.running > 0, "no drive is asked")


def _await_silence(drives: Drives, seconds: float) -> None:
    asked_at = time.monotonic()

    def is_silent() -> bool:
        nonlocal asked_at
        if drives.running:
            asked_at = time.monotonic()
            return False
        return time.monotonic() - asked_at >= seconds

    _until(is_silent, "some drive is always asked")


def _until(is_true: Callable[[], bool], otherwise: str) -> None:
    until = time.monotonic() + 30
    while not is_true():
        if time.monotonic() > until:
            raise RuntimeError(otherwise)
        time.sleep(0.001)


def _series_a_drive(daemon: Program) -> float:
    counted: dict[str, int] = {}
    for line in daemon.page().splitlines():
        if line.startswith(("ssd_smart_", "ssd_ata_", "ssd_device_up")) and 'device="' in line:
            device = line.split('device="', 1)[1].split('"', 1)[0]
            counted[device] = counted.get(device, 0) + 1
    return statistics.median(counted.values())


@contextmanager
def _drives(count: int) -> Iterator[tuple[Drives, Kernel, Path]]:
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kernel = stack.enter_context(Kernel(root / "host", count, min(count, 50)))
        yield Drives(root / "smartctl.d", count), kernel, root


@contextmanager
def _idle_and_busy(
    drives: Drives, kernel: Kernel, root: Path, interval: float
) -> Iterator[tuple[Program, Program]]:
    """Two daemons of the same drives, once all were asked: one asks nobody from then on."""
    with ExitStack() as stack:
        found = []
        for name, each in (("idle", _NEVER), ("busy", interval)):
            before = drives.ended
            found.append(stack.enter_context(_daemon(drives, kernel, root / name, each)))
            drives.await_ended(before + drives.count)
        time.sleep(3)
        yield found[0], found[1]


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
