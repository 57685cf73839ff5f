"""A daemon that reads poll documents, and the agent that writes them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from exporter.config.settings import SmartSource
from exporter.runtime.collector_status import CollectorStatus
from exporter.runtime.errors import Parsed
from exporter.smart.document_directory import DocumentWriter
from exporter.smart.document_source import DocumentSource
from exporter.smart.drive_registry import DriveRegistry
from exporter.smart.inventory import Inventory
from exporter.smart.polling.poll_document import Heartbeat, PollDocument
from exporter.smart.polling.poller import Poller, PollingPlan
from exporter.smart.presence import HostContext
from tests.fakes import FakeClock
from tests.linux import node_trees, trees
from tests.linux.trees import Sys
from tests.smart.scripted_smartctl import Smartctl, ata, nvme
from tests.stand_ins.children import FakeChildren

T = TypeVar("T")

SDA = ("/dev/sda", "sat")
NVME = ("/dev/nvme0", "nvme")

#: /proc/self/status of a process with CAP_SYS_RAWIO and CAP_SYS_ADMIN, and of one with none.
ROOT = "Name:\tpython\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n"
NOBODY = "Name:\tpython\nCapEff:\t0000000000000000\nSeccomp:\t0\n"


class Told(CollectorStatus):
    """Attempts that remember what was wrong the last time."""

    problem = ""

    def collect(
        self, collector: str, part: str, read: Callable[[], Parsed[T]], spent: float = 0.0
    ) -> T | None:
        found = read()
        self.problem = "; ".join(map(str, found.faults))
        return super().collect(collector, part, lambda: found, spent)


class Watching:
    """A daemon's SmartWatch, and the agent whose directory it may read."""

    def __init__(
        self, place: Path, source: SmartSource, status: str, directory: str = "run"
    ) -> None:
        self.place = place
        sys = Sys(place / "sys")
        trees.sata(sys, "sda")
        trees.nvme(sys)
        node_trees.dev(sys, "sda", "nvme0")
        self.status = place / "proc/self/status"
        self.status.parent.mkdir(parents=True)
        self.status.write_text(status)
        self.clock = FakeClock()
        self.collector_status = Told(self.clock)
        self.directory = place / directory
        self.agent = DocumentWriter(self.directory)
        self.smartctl = Smartctl((*SDA, "ATA"), (*NVME, "NVMe"))
        self.smartctl.says(*SDA, ata("S00001"))
        self.smartctl.says(*NVME, nvme("FW000000"))
        self.children: list[FakeChildren] = []
        self.drives = DriveRegistry(
            self.clock,
            sys.root,
            place,
            HostContext(dict, lambda _: None),
            inventory=Inventory(),
            wear=None,
            max_age_intervals=4.0,
        )
        self.watch = DocumentSource(
            source,
            self.directory,
            self.drives,
            clock=self.clock,
            collector_status=self.collector_status,
            proc=place / "proc",
            new_poller=self._begin,
        )

    def _begin(self) -> Poller:
        self.children.append(FakeChildren(self.clock, self.smartctl))
        return Poller(
            self.children[-1],
            self.clock,
            PollingPlan(),
            sys=self.place / "sys",
            root=self.place,
            on_document=self.drives.record,
            on_heartbeat=self.drives.update,
        )

    def document(self, who: tuple[str, str], **others: Any) -> PollDocument:
        values: dict[str, Any] = {
            "result": "success",
            "began_at": self.clock.wall(),
            "seconds": 0.25,
            "interval_seconds": 900.0,
            "last_success_at": self.clock.wall(),
            "counts": {"success": 1},
            "report": ata("S00001") if who == SDA else nvme("FW000000"),
        }
        return PollDocument(*who, **values | others)

    def agent_says(self, *documents: PollDocument, **others: Any) -> None:
        """The agent leaves documents, and lives."""
        drives = tuple((each.path, each.type) for each in documents)
        values: dict[str, Any] = {"scanned_at": self.clock.wall(), "drives": drives}
        for each in documents:
            self.agent.write(each)
        self.agent.write(Heartbeat(self.clock.wall(), 15.0, **values | others))

    def step(self, rounds: int = 1) -> "Watching":
        for _ in range(rounds):
            # Nobody is waited for: the clock is not the real one.
            self.watch.wake()
            self.watch.step()
        return self

    def seen(self) -> list[tuple[str, str, bool]]:
        return [(drive.label, drive.serial, drive.up) for drive in self.drives.watched()]

    @property
    def problem(self) -> str:
        is_good = dict(self.collector_status.results())["smart"].success
        assert is_good == (self.collector_status.problem == "")
        return self.collector_status.problem


def watching(place: Path, source: SmartSource, status: str = NOBODY) -> Watching:
    return Watching(place, source, status)
