"""A machine from a folder: laid out below a temporary directory, watched, and its page.

tests/hosts/README.md says what a folder holds.
"""

import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from exporter.config import Settings, SmartSource
from exporter.config_validation import parse_record
from exporter.errors import CommandError
from exporter.metrics.desc import Sample
from exporter.metrics.device_families import FILESYSTEM_AVAIL, FILESYSTEM_SIZE
from exporter.metrics.exposition import render
from exporter.metrics.own_families import BUILD_INFO
from exporter.monitor import Monitor
from exporter.programs.child import End, Finished
from tests.fakes import FakeChildren, FakeClock, FakeRunner
from tests.hosts import growth, tree

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

G = TypeVar("G")

FOLDERS = Path(__file__).parent

_PROGRAMS: Mapping[tuple[str, ...], str | CommandError] = {
    ("smartctl", "--version"): "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0-32-amd64]\n",
    ("fio", "--version"): "fio-3.33\n",
}
_FILES = ("proc", "sys", "rootfs", "smartctl")

#: What a drive's file is called that never answers.
_HANGS = ".hangs"

#: What a drive's second file is called, for the logs that are asked for once a day.
_DAILY = ".daily.json"


@dataclass(frozen=True, slots=True)
class Step:
    """What comes next: a folder laid over the host, paths gone, and `ticks` samples while the
    counters gain what is given for each of them; `seconds` lie between two samples.
    """

    overlay: str = ""
    gone: tuple[str, ...] = ()
    ticks: int = 1
    seconds: float = 1.0
    diskstats: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    cpu: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    pressure: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """A folder's case.toml.

    `like` is the folder of a machine that this one is but for what its own folder holds and what
    is `gone`, and whose steps come before its own. `shown` are the devices in expected.prom, all
    where it is empty.
    """

    like: str = ""
    gone: tuple[str, ...] = ()
    settings: Settings = field(default_factory=Settings)
    shown: tuple[str, ...] = ()
    then: tuple[Step, ...] = ()


class Host:
    """A machine under watch; `play` lets happen what its folder says happens."""

    def __init__(self, folder: Path, place: Path) -> None:
        self.folder = folder
        self.case = _case(folder)
        self._place = place
        self._steps: list[tuple[Path, Step]] = []
        for name in _FILES:
            (place / name).mkdir()
        for each in _lineage(folder):
            lay(each, place)
            self._steps += ((each, step) for step in _case(each).then)
        for path in self.case.gone:
            _remove(place / path)
        self.clock = FakeClock()
        self.monitor = Monitor(
            self._settings(),
            self.clock,
            FakeRunner(_PROGRAMS),
            {},
            children=lambda: FakeChildren(self._smartctl),
        )
        self._has_changed = False
        self._looked_at = self.clock.monotonic()
        self._samples: list[Sample] = []

    def play(self) -> "Host":
        """The first look and sample, then every step, as the daemon takes them, and one scrape."""
        self.monitor.initialize()
        self.monitor.sampler.tick()
        self.monitor.sampler.on_change(self._note_change)
        self._ask()
        for folder, step in self._steps:
            if step.overlay:
                lay(folder / step.overlay, self._place)
            for path in step.gone:
                _remove(self._place / path)
            for _ in range(step.ticks):
                self._tick(step)
        self._samples = [_steady(sample) for sample in self.monitor.samples()]
        return self

    def page(self, *, openmetrics: bool = False) -> str:
        """The whole page after `play`, without what differs from one run to the next."""
        return render(self._samples, openmetrics=openmetrics).decode()

    def expected(self) -> str:
        """What expected.prom is to hold."""
        return shown(self.page(), self.case.shown)

    def _settings(self) -> Settings:
        settings = self.case.settings
        return replace(
            settings,
            path=replace(
                settings.path,
                procfs=self._place / "proc",
                sysfs=self._place / "sys",
                rootfs=self._place / "rootfs",
            ),
            smart=replace(settings.smart, source=SmartSource.EXEC),
            # That is the process that runs the tests.
            collector={**settings.collector, "process": False, "smart": self._has_smartctl},
        )

    @property
    def _has_smartctl(self) -> bool:
        return (self._place / "smartctl" / "scan.json").exists()

    def _smartctl(self, argv: Sequence[str]) -> Finished | None:
        """What smartctl says in the folder smartctl/: scan.json, and a file a drive."""
        if "--scan-open" in argv:
            name = "scan"
        else:
            kind = argv[argv.index("-d") + 1] if "-d" in argv else ""
            name = re.sub(r"\W+", "-", f"{argv[-1].removeprefix('/dev/')} {kind}").strip("-")
        place = self._place / "smartctl"
        if (place / f"{name}{_HANGS}").exists():
            return None
        daily = place / f"{name}{_DAILY}"
        with_logs = "selftest" in argv and daily.exists()
        output = (daily if with_logs else place / f"{name}.json").read_bytes()
        return Finished(None, End.EXITED, _exit_status(output), output, seconds=0.25)

    def _tick(self, step: Step) -> None:
        proc = self._place / "proc"
        _grow(proc / "diskstats", growth.diskstats, step.diskstats)
        _grow(proc / "stat", growth.stat, step.cpu)
        for resource, totals in step.pressure.items():
            _grow(proc / "pressure" / resource, growth.pressure, totals)
        self.clock.advance(step.seconds)
        self.monitor.sampler.tick()
        # As a scrape does, so that a change is seen in the second in which it came.
        with self.monitor.sampler.flushed():
            pass
        if self._has_changed:
            self._has_changed = False
            self._look()
            if self.monitor.health is not None:
                self.monitor.health.source.rescan_soon()
        elif self.clock.monotonic() - self._looked_at >= self.case.settings.survey.interval_seconds:
            self._look()
        self._ask()

    def _look(self) -> None:
        self._looked_at = self.clock.monotonic()
        self.monitor.survey.refresh()

    def _ask(self) -> None:
        """Everybody who is due; the drives that a scan finds are due at once."""
        if self.monitor.health is not None:
            for _ in range(3):
                self.monitor.health.source.step()

    def _note_change(self) -> None:
        self._has_changed = True


def folders() -> list[Path]:
    """All machines, by name."""
    return sorted(case.parent for case in FOLDERS.glob("*/case.toml"))


def _case(folder: Path) -> Case:
    values = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    case: Case = parse_record(Case, values, folder.name, Case())
    return case


def _lineage(folder: Path) -> list[Path]:
    """The machine that one is like, the one that this is like, and so on; last the machine."""
    like = _case(folder).like
    return [*(_lineage(folder.parent / like) if like else ()), folder]


def lay(folder: Path, place: Path) -> None:
    """Copy a folder's files, and plant its trees, over what is there."""
    for name in _FILES:
        if (folder / name).is_dir():
            shutil.copytree(folder / name, place / name, dirs_exist_ok=True)
        text = folder / f"{name}.tree"
        if text.is_file():
            tree.plant(place / name, text.read_text(encoding="utf-8"))


def shown(page: str, devices: tuple[str, ...]) -> str:
    """The lines of a page that are about no device or one of these; all of them if none is given.

    A machine with 200 disks has a page of 20,000 lines, 198 times the same.
    """
    if not devices:
        return page
    lines = page.splitlines(keepends=True)
    return "".join(line for line in lines if (who := _device(line)) is None or who in devices)


def _device(line: str) -> str | None:
    match = re.search(r'[{,]device="([^"]*)"', line)
    return match[1] if match else None


def _grow(file: Path, grown: Callable[[str, G], str], gains: G) -> None:
    if gains and file.exists():
        file.write_text(grown(file.read_text(encoding="utf-8"), gains), encoding="utf-8")


def _exit_status(output: bytes) -> int:
    """The one that a report names; 0 where what is printed is none."""
    found = re.search(rb'"exit_status": (\d+)', output)
    return int(found[1]) if found else 0


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _steady(sample: Sample) -> Sample:
    """A sample without this run's versions, and without this machine's free space."""
    if sample.desc is BUILD_INFO:
        _version, _python, *others = sample.labels
        return BUILD_INFO(sample.value, "VERSION", "PYTHON", *others)
    if sample.desc in (FILESYSTEM_SIZE, FILESYSTEM_AVAIL):
        # statvfs(3) cannot be faked by files: it answers for the disk under the temporary folder.
        return sample._replace(value=float("nan"))
    return sample
