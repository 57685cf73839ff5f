"""Runs both units with 24 drives and probes, disturbs them, and measures them."""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from exporter.linux import mountinfo
from exporter.probe import location
from rigs.devices import smart_reports
from rigs.soak.slope import Point
from tests.end_to_end.made_up import MadeUpDrives
from tests.end_to_end.test_probe import settings as probe_settings
from tests.end_to_end.two_units import TwoUnits
from tests.end_to_end.waiting import up
from tests.processes import anonymous_kilobytes, resident_kilobytes

DRIVES = 24

#: Time between two scrapes, as with Prometheus's default, and between two measurements, in seconds.
_SCRAPE_SECONDS, _MEASURE_SECONDS = 15.0, 10.0

#: The largest part of the scrapes that may fail. On a busy machine the daemon may answer too late.
_MAX_FAILED_SCRAPES_RATIO = 0.02

#: Time between two reloads of both units, in seconds. Before each one, a drive hangs or recovers.
_RELOAD_SECONDS = 60.0

#: Each unit is restarted after this time in seconds, which is long enough for a slope: a younger
#: process is measured only after its warm-up. A run has at least one restart and at most three.
_RUN_SECONDS = 3600.0
_MAX_RESTARTS = 3

#: Number of rotations of each log during the run.
_ROTATIONS = 8

#: Measurements of a process younger than this are ignored: it fills its caches. In seconds, and as
#: part of the time between two restarts.
_WARM_UP_SECONDS, _WARM_UP_RATIO = 900.0, 0.4

#: All drives must answer within this time after a start, in seconds. A smartctl process of a busy
#: machine may exceed its timeout, and its drive must answer again within the same time.
_START_SECONDS = 120.0


#: Other tests on this host add loop devices, with 107 series and 38 KB of memory each. These are no
#: growth of the exporter.
_EVERY_DEVICE, _NO_LOOP_DEVICE = 'device_exclude = "^$"', 'device_exclude = "^(loop|zram)"'

#: The profiles run as often as the settings accept, and may write 1 TB a day.
_PROBES_OFTEN = "interval_seconds = 60\n"

_SMART = """
[smart]
nvme_interval_seconds = 10
interval_seconds = 10
timeout_seconds = 2
rescan_seconds = 60
"""


class _Drives(MadeUpDrives):
    """Simulated drives on this host: probes require the real /proc and /sys."""

    @property
    def flags(self) -> tuple[str, ...]:
        return (
            f"--path.rootfs={self.directory.parent}",
            f"--smartctl.path={self.stand_in.program}",
        )


@dataclass
class Result:
    """Measurements by name, one list per run of the process; counts of events; problems."""

    runs: dict[str, list[list[Point]]] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, name: str, at: float, value: float) -> None:
        self.runs.setdefault(name, [[]])[-1].append((at, value))

    def restart(self, process: str) -> None:
        """Starts a new run of all measurements of a process, `agent` or `daemon`."""
        for name, runs in self.runs.items():
            if name.startswith(f"{process}: "):
                runs.append([])

    def count(self, event: str) -> None:
        self.events[event] = self.events.get(event, 0) + 1


class Soak:
    """Both units, and the events of a run of `seconds`."""

    def __init__(self, root: Path, seconds: float, say: Callable[[str], None]) -> None:
        self.result = Result()
        self._seconds = seconds
        self._say = say
        self._drives = _Drives(root / "drives", DRIVES)
        self._probes = root / "probes"
        self._probes.mkdir(mode=0o700)
        (self._drives.directory.parent / "run/lock").mkdir(parents=True)
        text = self._probe_settings() + _SMART
        self.units = TwoUnits(root, self._drives, text)
        self.units.give(self._probes)
        # It can be rotated while the daemon runs.
        self.units.daemon.log_mode = "ab"
        self._chance = random.Random(0)
        self._hanging = ""
        self._logged_bytes = {"agent": 0, "daemon": 0}
        self._warm_at = dict.fromkeys(("agent", "daemon"), 0.0)
        self._began = self._started_at = self._answered_at = time.monotonic()
        #: Restarts divide the run into equal parts of this many seconds.
        self._part = seconds / min(1 + _MAX_RESTARTS, max(2, int(seconds / _RUN_SECONDS)))

    def run(self) -> None:
        """Runs until the time is over, or until a unit ends unexpectedly."""
        with self.units:
            self._await_drives()
            self._hang_each_drive_once()
            for name in self._warm_at:
                self._started(name)
            self._began = time.monotonic()
            events = sorted(self._events(), key=lambda event: event[0])
            for at, event in events:
                time.sleep(max(0.0, self._began + at - time.monotonic()))
                event()
                for unit in (self.units.agent, self.units.daemon):
                    if unit.process.poll() is not None:
                        self.result.problems.append(f"a unit has ended: {unit.log[-2000:]}")
                        return
        failed, scrapes = (self.result.events.get(e, 0) for e in ("failed scrapes", "scrapes"))
        if failed > _MAX_FAILED_SCRAPES_RATIO * scrapes:
            self.result.problems.append(f"{failed} of {scrapes} scrapes failed")

    def _events(self) -> Iterator[tuple[float, Callable[[], None]]]:
        for seconds, event in (
            (_SCRAPE_SECONDS, self._scrape),
            (_MEASURE_SECONDS, self._measure),
            (_RELOAD_SECONDS, self._reload),
            (self._part, self._restart),
            (self._seconds / (_ROTATIONS + 1), self._rotate),
        ):
            for number in range(1, round(self._seconds / seconds)):
                yield number * seconds, event

    def _probe_settings(self) -> str:
        mounts = mountinfo.read_process(Path("/proc"), os.getpid()).value
        mount = mountinfo.mount_containing(mounts, str(self._probes.resolve()))
        why = "fio is not installed" if shutil.which("fio") is None else ""
        if mount is not None and not why:
            why = location.unsuitable_reason(mount.fstype, copy_on_write=False) or ""
        if why:
            self._say(f"no probes run: {why}")
            return ""
        text = probe_settings(self._probes, _PROBES_OFTEN)
        assert _EVERY_DEVICE in text
        return text.replace(_EVERY_DEVICE, _NO_LOOP_DEVICE)

    def _scrape(self) -> None:
        self.result.count("scrapes")
        try:
            page = self.units.daemon.page()
        except (AssertionError, OSError) as e:
            self.result.count("failed scrapes")
            self._say(f"a scrape failed: {e}")
            return
        self.result.add("series on the page", self._age(), len(page.samples))
        answering = sum(value for name, value in up(page).items() if name.startswith("rig"))
        now = time.monotonic()
        if answering >= DRIVES - 2:
            self._answered_at = now
        elif now - max(self._answered_at, self._started_at) > _START_SECONDS:
            self.result.problems.append(f"{self._age():.0f} s: only {answering:.0f} drives answer")

    def _measure(self) -> None:
        for name, unit in (("agent", self.units.agent), ("daemon", self.units.daemon)):
            if time.monotonic() < self._warm_at[name]:
                continue
            pid, age = unit.process.pid, self._age()
            process = Path("/proc", str(pid))
            self.result.add(f"{name}: resident memory", age, resident_kilobytes(pid) * 1024)
            self.result.add(f"{name}: anonymous memory", age, anonymous_kilobytes(pid) * 1024)
            self.result.add(f"{name}: descriptors", age, len(os.listdir(process / "fd")))
            self.result.add(f"{name}: threads", age, len(os.listdir(process / "task")))
            logged = self._logged_bytes[name] + unit._log.stat().st_size
            self.result.add(f"{name}: log", age, logged)
        for name, directory in (
            ("files: state directory", self.units.state),
            ("files: poll documents", self.units.documents),
            ("files: probe directory", self._probes),
        ):
            self.result.add(name, self._age(), _bytes_of(directory))

    def _reload(self) -> None:
        """Makes another drive hang, or the hanging one recover, and reloads both units."""
        if self._hanging:
            number = int(self._hanging.removeprefix("rig"))
            self._drives.says(self._hanging, smart_reports.of(number))
            self._hanging = ""
        else:
            self._hanging = self._chance.choice(self._drives.names)
            self._drives.hangs(self._hanging)
        text = self.units.config.read_text()
        before, after = "timeout_seconds = 2\n", "timeout_seconds = 3\n"
        old, new = (before, after) if before in text else (after, before)
        self.units.config.write_text(text.replace(old, new))
        self.units.agent.reload()
        self.units.daemon.signal(signal.SIGHUP)
        self.result.count("reloads")

    def _restart(self) -> None:
        self.units.restart_agent()
        self._started("agent")
        self.units.daemon.stop()
        self._rotate()
        # The settings of probes and the state are read again.
        self.units.daemon.__enter__()
        self._started("daemon")
        self.result.count("restarts")

    def _started(self, name: str) -> None:
        self.result.restart(name)
        warm_up = min(_WARM_UP_SECONDS, _WARM_UP_RATIO * self._part)
        self._warm_at[name] = time.monotonic() + warm_up
        self._started_at = time.monotonic()

    def _rotate(self) -> None:
        """As logrotate's copytruncate: the process keeps its descriptor."""
        for name, unit in (("agent", self.units.agent), ("daemon", self.units.daemon)):
            self._logged_bytes[name] += unit._log.stat().st_size
            shutil.copyfile(unit._log, unit._log.with_suffix(".log.1"))
            os.truncate(unit._log, 0)
        self.result.count("log rotations")

    def _await_drives(self) -> None:
        until = time.monotonic() + _START_SECONDS
        while sum(up(self.units.daemon.page()).values()) < DRIVES:
            if time.monotonic() > until:
                self.result.problems.append(f"not all drives answer: {self.units.daemon.log}")
                return
            time.sleep(1)
        self._say(f"{DRIVES} drives answer")

    def _hang_each_drive_once(self) -> None:
        """Adds the series that a drive gets with its first timeout, before they are counted."""
        for name in self._drives.names:
            self._drives.hangs(name)
        until = time.monotonic() + _START_SECONDS
        while any(up(self.units.daemon.page()).values()):
            if time.monotonic() > until:
                self.result.problems.append("a hanging drive is reported as up")
                break
            time.sleep(1)
        for number, name in enumerate(self._drives.names):
            self._drives.says(name, smart_reports.of(number))
        self._await_drives()

    def _age(self) -> float:
        return time.monotonic() - self._began


def _bytes_of(directory: Path) -> int:
    """Returns the size of all files; a file that was removed meanwhile counts 0."""
    total = 0
    for place, _, names in os.walk(directory):
        for name in names:
            try:
                total += Path(place, name).stat().st_size
            except FileNotFoundError:
                continue
    return total
