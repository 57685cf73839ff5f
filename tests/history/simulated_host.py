"""A host with a real sampler whose seconds a test writes, and an I/O history in a directory."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from exporter.config.disk_rules import DiskRules
from exporter.config.drive_class import DriveClass
from exporter.config.history_settings import HistorySettings
from exporter.drives.watched_drive import WatchedDrive
from exporter.history.history_block import EVENTS, encoded
from exporter.history.history_events import HistoryEvent, encoded_events
from exporter.history.io_history import IoHistory
from exporter.io.activity import DiskActivity
from exporter.io.baseline import Baselines
from exporter.io.counter_files import CounterFiles
from exporter.io.drive import Drive
from exporter.io.drive_events import DriveEvents
from exporter.io.interval import DiskInterval
from exporter.io.sampler import Sampler
from exporter.io.verdict import Verdict
from exporter.runtime.collector_status import CollectorStatus
from tests.fakes import FakeClock

#: 2026-11-22 00:00 UTC, a Sunday.
MIDNIGHT = 1_795_305_600.0

NO_DRIVES: list[WatchedDrive] = []


def io(
    read: float = 0.0, written: float = 0.0, await_seconds: float = 0.0005, seconds: float = 1.0
) -> DiskInterval:
    """Returns a second of a drive. read, written: bytes per second."""
    reads, writes = (seconds * rate / 16384 for rate in (read, written))
    return DiskInterval._make(
        (
            *(seconds, round(reads), round(reads) * await_seconds, read * seconds),
            *(round(writes), round(writes) * await_seconds, written * seconds),
            *(0, 0.0, False, 1.0, 0.5, 0.0, None, 0.0),
        )
    )


def identity(name: str) -> str:
    return f"naa.5000c500{name:0>24}"


class SimulatedHost:
    """`second` takes a sample; `minutes` takes many and saves every ten minutes, as the daemon."""

    def __init__(
        self,
        directory: Path,
        names: list[str],
        *,
        wall: float = MIDNIGHT,
        interval: float = 1.0,
        settings: HistorySettings | None = None,
    ) -> None:
        self.directory = directory
        self.clock = FakeClock(wall=wall)
        self.settings = settings or HistorySettings()
        self.interval = interval
        self.names = names
        self.saved_at = self.clock.monotonic()
        self.start()

    def start(self) -> None:
        """Starts the process, as after kill -9."""
        rules = DiskRules()
        baselines = Baselines(rules.baseline)
        self.sampler = Sampler(
            CounterFiles(self.directory, self.clock),
            clock=self.clock,
            collector_status=CollectorStatus(self.clock),
            rules=rules,
            baselines=baselines,
            wanted=lambda _name: True,
            interval=self.interval,
        )
        for name in self.names:
            drive = Drive(identity(name), DriveClass.SSD)
            learned = baselines.for_drive(drive.identity)
            self.sampler.activities[name] = DiskActivity(drive, rules, learned, 0.0)
        self.events = DriveEvents()
        self.history = IoHistory(self.directory, self.settings, self.sampler, self.events)
        #: What is called every ten samples.
        self.recording: list[Callable[[], None]] = [self.history.record]
        self.history.save(self.clock.wall())

    def second(
        self, load: Mapping[str, DiskInterval], verdicts: Mapping[str, Verdict] | None = None
    ) -> None:
        self.clock.advance(self.interval)
        self.sampler.sampled_at_unix_time = self.clock.wall()
        self.sampler.recent.begin((None, None), None)
        for name, interval in load.items():
            verdict = (verdicts or {}).get(name, Verdict.NONE)
            self.sampler.recent.record(name, interval, verdict)

    def seconds(
        self,
        count: int,
        load: Mapping[str, DiskInterval],
        verdicts: Mapping[str, Verdict] | None = None,
    ) -> None:
        for number in range(count):
            self.second(load, verdicts)
            if number % 10 == 9:
                self.record()
            self.save_if_due()
        self.record()

    def record(self) -> None:
        for each in self.recording:
            each()

    def save_if_due(self) -> None:
        if self.clock.monotonic() - self.saved_at >= 600:
            self.saved_at = self.clock.monotonic()
            self.history.save(self.clock.wall())

    def notice(self, *names: str) -> None:
        """Observes that these drives are there, and that the others are not."""
        self.events.observe(
            self.clock.wall(), {name: identity(name) for name in names}, NO_DRIVES, {}
        )

    def write_events(self, events: Sequence[HistoryEvent]) -> None:
        """Appends events to the file of the current month, as an earlier process did."""
        minute = int(self.clock.wall() // 60)
        month = time.strftime("hours-%Y-%m.io", time.gmtime(self.clock.wall()))
        (self.directory / "history").mkdir(exist_ok=True)
        with (self.directory / "history" / month).open("ab") as file:
            file.write(encoded(EVENTS, minute, minute, encoded_events(events)))

    def restart(self, *, orderly: bool) -> None:
        if orderly:
            self.history.save(self.clock.wall(), at_end=True)
        self.start()

    def files(self) -> dict[str, int]:
        """Returns the sizes of the files, keyed by name."""
        folder = self.directory / "history"
        if not folder.is_dir():
            return {}
        return {path.name: path.stat().st_size for path in sorted(folder.iterdir())}


def varied_load(names: list[str], chance: random.Random) -> dict[str, DiskInterval]:
    """Returns a second in which all drives are busy, each with other values."""
    return {
        name: io(
            chance.uniform(0, 200e6), chance.uniform(0, 200e6), chance.lognormvariate(-7.5, 0.6)
        )
        for name in names
    }
