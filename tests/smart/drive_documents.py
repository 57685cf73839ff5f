"""A drive registry that receives poll documents from a test."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from exporter.drives.health import DriveHealth
from exporter.drives.watched_drive import WatchedDrive
from exporter.drives.wearout import WearoutRules
from exporter.linux.device_identity import DeviceIdentity
from exporter.smart.answer_log import AnswerLog
from exporter.smart.drive_registry import DriveRegistry
from exporter.smart.inventory import Inventory
from exporter.smart.polling.poll_document import Heartbeat, PollDocument
from exporter.smart.presence import HostContext
from exporter.wear.wear_recorder import WearRecorder
from tests.drives.reports import Report
from tests.fakes import FakeClock
from tests.linux import node_trees, trees
from tests.linux.trees import Sys

#: A drive without a document for this time is not answering.
FIRST_ANSWER_SECONDS = 60.0

DAY = 86_400.0
SDA = ("/dev/sda", "sat")
NVME = ("/dev/nvme0", "nvme")


class Known:
    """The drives of a host with the SATA drives sda and sdb and the NVMe drive nvme0n1."""

    def __init__(self, place: Path, **others: Any) -> None:
        self.place = place
        sys = Sys(place / "sys")
        if not sys.root.exists():
            trees.sata(sys, "sda")
            trees.sata(sys, "sdb", 2)
            trees.nvme(sys)
            node_trees.host(sys, 6, "devices/pci0000:00/0000:00:03.0/0000:03:00.0/host6")
        self.clock = FakeClock()
        self.disks: dict[str, DeviceIdentity] = {}
        self.kernel_written: dict[str, int] = {}
        self.rated: dict[str, int] = {}
        self.listed: tuple[tuple[str, str], ...] = ()
        self.counts: dict[tuple[str, str], dict[str, int]] = {}
        history = others.pop("history", None)
        self.wear = None if history is None else WearRecorder(history, WearoutRules())
        self.drives = DriveRegistry(
            self.clock,
            sys.root,
            place,
            HostContext(lambda: self.disks, self.kernel_written.get, self.rated),
            inventory=others.pop("inventory", Inventory()),
            wear=self.wear,
            max_age_intervals=4.0,
            first_answer_seconds=FIRST_ANSWER_SECONDS,
            answer_log=AnswerLog(self.clock),
        )

    def answer(self, who: tuple[str, str], report: Report | None = None, **others: Any) -> "Known":
        """A poll of a drive ends now."""
        self.drives.record(self.document(who, report, **others))
        if self.wear is not None:
            self.wear.process_queue()
        return self

    def document(
        self, who: tuple[str, str], report: Report | None = None, **others: Any
    ) -> PollDocument:
        result = others.get("result", "success")
        counts = self.counts.setdefault(who, {})
        counts[result] = counts.get(result, 0) + 1
        found = PollDocument(
            path=who[0],
            type=who[1],
            result=result,
            began_at=self.clock.wall(),
            seconds=0.25,
            interval_seconds=60.0 if who[1] == "nvme" else 900.0,
            exit_status=0,
            last_success_at=self.clock.wall() if result == "success" else None,
            counts=dict(counts),
            report=report or {},
        )
        return replace(found, **others)

    def call(self, *drives: tuple[str, str], **others: Any) -> None:
        """The poller says which drives there are."""
        self.listed = drives
        self.live(**others)

    def live(self, **others: Any) -> None:
        found: dict[str, Any] = {
            "at": self.clock.wall(),
            "interval_seconds": 15.0,
            "scanned_at": self.clock.wall(),
            "drives": self.listed,
        }
        self.drives.update(Heartbeat(**found | others))

    def watched(self) -> dict[str, WatchedDrive]:
        """The drives by label; those of one label by label and serial number."""
        found: dict[str, WatchedDrive] = {}
        for drive in self.drives.watched():
            label = f"{drive.label} {drive.serial}" if drive.label in found else drive.label
            found[label] = drive
        return found

    def health(self, label: str) -> DriveHealth:
        """The health of a drive that has answered."""
        health = self.watched()[label].health
        assert health is not None
        return health

    def labels(self) -> list[tuple[str, str, bool]]:
        return [(drive.label, drive.serial, drive.up) for drive in self.drives.watched()]


def kept(known: Known) -> Inventory:
    """The inventory as another run reads it from the state file."""
    return Inventory(json.loads(json.dumps(known.drives.to_state())))
