"""The health of one host's drives, put together; no threads, no network.

Imported only where it is wanted: it is 2 MB of a daemon that may hold 32.
"""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.clock import Clock
from exporter.collector_status import CollectorStatus
from exporter.config import Settings
from exporter.drives.wearout import WearoutRules
from exporter.linux.device_identity import DeviceIdentity
from exporter.metrics import smart_collector
from exporter.metrics.desc import Sample
from exporter.programs.children import Children
from exporter.smart import polling_plan
from exporter.smart.document_source import STEP_SECONDS, DocumentSource
from exporter.smart.drive_registry import DriveRegistry, HostContext
from exporter.smart.inventory import Inventory
from exporter.smart.poller import Poller
from exporter.smart.wear_recorder import WearRecorder

if TYPE_CHECKING:
    from exporter.smart.wear_history import WearHistory


class HealthMonitor:
    """Who asks the drives (`watch`), what they said (`drives`), and how they wear (`wear`).

    disks: who the kernel says that each disk is. written_bytes: what it has written to a device.
    kept_inventory: what an earlier run kept of `drives.to_state`.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        collector_status: CollectorStatus,
        *,
        disks: Callable[[], Mapping[str, DeviceIdentity]],
        written_bytes: Callable[[str], int | None],
        children: Callable[[], Children],
        kept_inventory: Any,
        history: "Callable[[], WearHistory] | None",
    ) -> None:
        self._clock = clock
        self._children = children
        self._shown: dict[tuple[str, str], tuple[tuple[object, ...], list[Sample]]] = {}
        self.settings = settings
        path = settings.path
        self.wear = None if history is None else WearRecorder(history, WearoutRules())
        self.drives = DriveRegistry(
            clock,
            path.sysfs,
            path.rootfs,
            HostContext(disks, written_bytes, polling_plan.rated_bytes(settings)),
            inventory=Inventory(kept_inventory),
            wear=self.wear,
            max_age_intervals=settings.smart.max_age_intervals,
        )
        self.watch = DocumentSource(
            settings.smart.source,
            settings.smart.directory,
            self.drives,
            clock=clock,
            collector_status=collector_status,
            # Our own rights, wherever the host's /proc is.
            proc=Path("/proc"),
            begin_polling=self._polling,
        )

    def reconfigure(self, settings: Settings) -> None:
        """Take over settings that were read again; whoever asks the drives begins anew.

        The source and its directory keep until a restart.
        """
        before, self.settings = self.settings, settings
        self.drives.judge_by(polling_plan.rated_bytes(settings), settings.smart.max_age_intervals)
        if polling_plan.of(before) != polling_plan.of(settings):
            self.watch.begin_anew()

    def samples(self, described: Collection[str]) -> list[Sample]:
        """What the drives say; `described` are the block devices that are described elsewhere."""
        shown, before = self.settings.smart, self._shown
        found: list[Sample] = []
        self._shown = {}
        for drive in self.drives.watched():
            key = drive.label, drive.serial
            what = drive, drive.label in described, shown.raw_attributes, shown.attribute_values
            # Drives speak once a minute or a quarter of an hour, and scrapers ask more often.
            known = before.get(key)
            if known is None or known[0] != what:
                its = [*smart_collector.identity_samples(drive, described)]
                its += smart_collector.drive_samples(
                    drive,
                    raw_attributes=shown.raw_attributes,
                    attribute_values=shown.attribute_values,
                )
                known = what, its
            self._shown[key] = known
            found += known[1]
        heartbeat = self.drives.roll
        stuck = {"smartctl": len(heartbeat.stuck)} if heartbeat else {}
        by_agent = heartbeat is not None and not self.watch.asks_itself
        found += smart_collector.samples(stuck, heartbeat.at if heartbeat and by_agent else None)
        return found

    def _polling(self) -> Poller:
        path = self.settings.path
        return Poller(
            self._children(),
            self._clock,
            polling_plan.of(self.settings),
            sys=path.sysfs,
            root=path.rootfs,
            take=self.drives.take,
            call=self.drives.call,
            roll_seconds=STEP_SECONDS,
        )
