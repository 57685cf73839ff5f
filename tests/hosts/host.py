"""Runs the exporter on a recorded host: creates its files, plays its steps, renders its page.

tests/hosts/README.md describes the content of a folder.
"""

import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from exporter.config.settings import Settings, SmartSource
from exporter.config_validation import parse_record
from exporter.families.desc import Sample, SampleBlock
from exporter.families.device_families import FILESYSTEM_AVAIL, FILESYSTEM_SIZE
from exporter.families.own_families import BUILD_INFO
from exporter.io.service_watch import REFRESH_SECONDS
from exporter.metrics.exposition import render
from exporter.monitor import Monitor
from exporter.programs.child import End, Finished
from exporter.runtime.errors import CommandError
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

#: The suffix of a file whose drive never answers.
_HANGS = ".hangs"

#: The suffix of a drive's second output, with the logs that are read once a day.
_DAILY = ".daily.json"


@dataclass(frozen=True, slots=True)
class Step:
    """A step: copies a folder over the host, removes paths, and takes `ticks` samples while the
    counters increase by the given values per sample. Samples are `seconds` apart.
    """

    overlay: str = ""
    gone: tuple[str, ...] = ()
    ticks: int = 1
    seconds: float = 1.0
    diskstats: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    cpu: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    pressure: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    softirqs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """The content of a case.toml.

    `like` is the folder of the host that this one extends: this folder's files replace its files,
    the paths in `gone` are removed, and its steps come first. `shown` are the devices in
    expected.prom; empty means all.
    """

    like: str = ""
    gone: tuple[str, ...] = ()
    settings: Settings = field(default_factory=Settings)
    shown: tuple[str, ...] = ()
    then: tuple[Step, ...] = ()


class Host:
    """A recorded host with a monitor; `play` runs the steps of its folder."""

    def __init__(self, folder: Path, place: Path) -> None:
        self.folder = folder
        self.case = _case(folder)
        self._place = place
        self._steps: list[tuple[Path, Step]] = []
        for name in _FILES:
            (place / name).mkdir()
        for each in _with_ancestors(folder):
            copy_files(each, place)
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
        self._surveyed_at = self._services_read_at = self.clock.monotonic()
        self._samples: list[Sample | SampleBlock] = []

    def play(self) -> "Host":
        """Runs the first survey and sample, then all steps in the daemon's order, then a scrape."""
        self.monitor.refresh_host()
        self.monitor.sampler.tick()
        self.monitor.sampler.on_change(self._note_change)
        self.monitor.refresh_services()
        self._poll_drives()
        for folder, step in self._steps:
            if step.overlay:
                copy_files(folder / step.overlay, self._place)
            for path in step.gone:
                _remove(self._place / path)
            for _ in range(step.ticks):
                self._tick(step)
        self._samples = [
            each if isinstance(each, SampleBlock) else _without_variable_parts(each)
            for each in self.monitor.samples()
        ]
        return self

    def page(self, *, openmetrics: bool = False) -> str:
        """Returns the page after `play`, without values that differ between runs."""
        return render(self._samples, openmetrics=openmetrics).decode()

    def expected(self) -> str:
        """Returns the content for expected.prom."""
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
            # A recording has outputs of smartctl, and no log pages.
            smart=replace(settings.smart, source=SmartSource.EXEC, nvme_logs=False),
            # process_* metrics would describe the process that runs the tests.
            collector={**settings.collector, "process": False, "smart": self._has_smartctl},
        )

    @property
    def _has_smartctl(self) -> bool:
        return (self._place / "smartctl" / "scan.json").exists()

    def _smartctl(self, argv: Sequence[str]) -> Finished | None:
        """Returns the recorded output for a command line of smartctl; None if the drive hangs."""
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
        _grow(proc / "softirqs", growth.softirqs, step.softirqs)
        for resource, totals in step.pressure.items():
            _grow(proc / "pressure" / resource, growth.pressure, totals)
        self.clock.advance(step.seconds)
        self.monitor.sampler.tick()
        # As in a scrape, so that a change is detected in the second in which it occurs.
        with self.monitor.sampler.flushed():
            pass
        if self._has_changed:
            self._has_changed = False
            self._survey()
            if self.monitor.health is not None:
                self.monitor.health.source.rescan_soon()
        elif (
            self.clock.monotonic() - self._surveyed_at >= self.case.settings.survey.interval_seconds
        ):
            self._survey()
        if self.clock.monotonic() - self._services_read_at >= REFRESH_SECONDS:
            self._services_read_at = self.clock.monotonic()
            self.monitor.refresh_services()
        self._poll_drives()

    def _survey(self) -> None:
        self._surveyed_at = self.clock.monotonic()
        self.monitor.survey.refresh()

    def _poll_drives(self) -> None:
        """Polls all drives that are due; drives that a scan finds are due immediately."""
        if self.monitor.health is not None:
            for _ in range(3):
                self.monitor.health.source.step()

    def _note_change(self) -> None:
        self._has_changed = True


def folders() -> list[Path]:
    """Returns the folders of all hosts, by name."""
    return sorted(case.parent for case in FOLDERS.glob("*/case.toml"))


def _case(folder: Path) -> Case:
    values = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    case: Case = parse_record(Case, values, folder.name, Case())
    return case


def _with_ancestors(folder: Path) -> list[Path]:
    """Returns the folders that a host extends, the most general one first, then its own."""
    like = _case(folder).like
    return [*(_with_ancestors(folder.parent / like) if like else ()), folder]


def copy_files(folder: Path, place: Path) -> None:
    """Copies a folder's files and trees to `place`; existing files are replaced."""
    for name in _FILES:
        if (folder / name).is_dir():
            shutil.copytree(folder / name, place / name, dirs_exist_ok=True)
        text = folder / f"{name}.tree"
        if text.is_file():
            tree.create_tree(place / name, text.read_text(encoding="utf-8"))


def shown(page: str, devices: tuple[str, ...]) -> str:
    """Returns the lines of a page without a device or with one of these; empty means all lines.

    A host with 200 disks has a page with 20,000 lines, most of which repeat.
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
    """Returns the exit status in a report; 0 if the output is not a report."""
    found = re.search(rb'"exit_status": (\d+)', output)
    return int(found[1]) if found else 0


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _without_variable_parts(sample: Sample) -> Sample:
    """Returns a sample without the versions of this run and the free space of this machine."""
    if sample.desc is BUILD_INFO:
        _version, _python, *others = sample.labels
        return BUILD_INFO(sample.value, "VERSION", "PYTHON", *others)
    if sample.desc in (FILESYSTEM_SIZE, FILESYSTEM_AVAIL):
        # Files cannot replace statvfs(3): it reports the file system of the temporary directory.
        return sample._replace(value=float("nan"))
    return sample
