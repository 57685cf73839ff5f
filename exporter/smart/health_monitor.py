"""Builds the objects that read, store and track the health of one host's drives.

It starts no thread and opens no socket. The daemon imports this module only when the collector
`smart` is on: the module and its imports take 2 MB of memory, and the daemon's limit is 32 MB.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.clock import Clock
from exporter.collector_status import CollectorStatus
from exporter.config import Settings
from exporter.drives.wearout import WearoutRules
from exporter.linux.device_identity import DeviceIdentity
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
    """Holds the source of poll documents (`source`), the drives and the wear recorder (`wear`).

    disks: returns the identity of each block device, by name, as the kernel reports it.
    written_bytes: returns the bytes that the kernel has written to a device since boot.
    saved_inventory: the value that `drives.to_state` returned in an earlier run, or None.
    history: opens the wear history; None without a state directory, and `wear` is None then.
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
        saved_inventory: Any,
        history: "Callable[[], WearHistory] | None",
    ) -> None:
        self._clock = clock
        self._children = children
        self.settings = settings
        path = settings.path
        self.wear = None if history is None else WearRecorder(history, WearoutRules())
        self.drives = DriveRegistry(
            clock,
            path.sysfs,
            path.rootfs,
            HostContext(disks, written_bytes, polling_plan.rated_bytes(settings)),
            inventory=Inventory(saved_inventory),
            wear=self.wear,
            max_age_intervals=settings.smart.max_age_intervals,
        )
        self.source = DocumentSource(
            settings.smart.source,
            settings.smart.directory,
            self.drives,
            clock=clock,
            collector_status=collector_status,
            # The capabilities of this process, also where path.procfs is another host's /proc.
            proc=Path("/proc"),
            new_poller=self._new_poller,
        )

    def reconfigure(self, settings: Settings) -> None:
        """Apply reloaded settings; a changed polling plan restarts the poller.

        `smart.source` and `smart.directory` change only at a restart.
        """
        before, self.settings = self.settings, settings
        self.drives.reconfigure(
            polling_plan.rated_bytes(settings), settings.smart.max_age_intervals
        )
        if polling_plan.of(before) != polling_plan.of(settings):
            self.source.restart_polling()

    def _new_poller(self) -> Poller:
        path = self.settings.path
        return Poller(
            self._children(),
            self._clock,
            polling_plan.of(self.settings),
            sys=path.sysfs,
            root=path.rootfs,
            on_document=self.drives.record,
            on_heartbeat=self.drives.update,
            heartbeat_seconds=STEP_SECONDS,
        )
