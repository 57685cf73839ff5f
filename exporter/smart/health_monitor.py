"""Builds the objects that poll the drives of this host and keep their health.

A poll document is the result of one poll of a drive. The documents come from the agent, which
writes them to a directory, or from a poller in this process. This module starts no thread.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.config.settings import Settings
from exporter.drives.health import DriveHealth
from exporter.drives.watched_drive import WatchedDrive
from exporter.drives.wearout import WearoutRules
from exporter.linux.device import Device
from exporter.programs.children import Children, SystemChildren
from exporter.runtime.clock import Clock
from exporter.runtime.collector_status import CollectorStatus
from exporter.smart import mmc_drives
from exporter.smart.answer_log import AnswerLog
from exporter.smart.document_source import STEP_SECONDS, DocumentSource
from exporter.smart.drive_registry import DriveRegistry
from exporter.smart.inventory import Inventory
from exporter.smart.presence import HostContext, empty_devices
from exporter.wear.wear_recorder import WearRecorder

if TYPE_CHECKING:
    from exporter.smart.polling.poller import Poller
    from exporter.wear.wear_history import WearHistory

#: In `read_once`, the maximum time for the scan for drives, and the time to end a smartctl that
#: ignores SIGTERM, in seconds. The scan itself has a timeout of 30 s.
_ONCE_SCAN_SECONDS, _ONCE_END_SECONDS = 45.0, 10.0

#: A drive is reported as not answering if no result of a poll arrives within its timeout plus this
#: time, in seconds. smartctl needs up to 5 s to be ended, the documents are read every 5 s, and
#: after the start many drives wait for each other.
_FIRST_ANSWER_MARGIN_SECONDS = 30.0


class HealthMonitor:
    """Holds the source of poll documents (`source`), the drives and the wear recorder (`wear`).

    devices: returns the block devices as the kernel reports them, keyed by name.
    written_bytes: returns the bytes that the kernel has written to the device with a given name
        since boot; None means unknown.
    children: creates the object that runs smartctl.
    saved_inventory: the value that `drives.to_state` returned in an earlier run; None means that
        there is none.
    history: opens the wear history. None means that there is no state directory; `wear` is then
        None too.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        collector_status: CollectorStatus,
        *,
        devices: Callable[[], Mapping[str, Device]],
        written_bytes: Callable[[str], int | None],
        children: Callable[[], Children],
        saved_inventory: Any,
        history: "Callable[[], WearHistory] | None",
    ) -> None:
        self._clock = clock
        self._children = children
        self._devices = devices
        self._is_alone = True
        self.settings = settings
        path = settings.path
        self.wear = None if history is None else WearRecorder(history, WearoutRules())
        self.drives = DriveRegistry(
            clock,
            path.sysfs,
            path.rootfs,
            HostContext(
                lambda: {name: device.identity for name, device in devices().items()},
                written_bytes,
                settings.rated_bytes(),
                lambda: empty_devices(devices()),
            ),
            inventory=Inventory(saved_inventory),
            wear=self.wear,
            max_age_intervals=settings.smart.max_age_intervals,
            first_answer_seconds=_first_answer_seconds(settings),
            answer_log=AnswerLog(clock),
        )
        self.source = DocumentSource(
            settings.smart.source,
            settings.smart.directory,
            self.drives,
            clock=clock,
            collector_status=collector_status,
            # The capabilities of this process are read, so that path.procfs does not apply: it may
            # be another host's /proc.
            proc=Path("/proc"),
            new_poller=self._new_poller,
        )

    def watched(self) -> list[WatchedDrive]:
        """Returns the drives of `drives.watched`, followed by the eMMC, which are not polled."""
        devices, polled = self._devices(), self.drives.watched()
        known = {drive.label for drive in polled if not drive.is_missing}
        kernel = {name: device.identity for name, device in devices.items()}
        return [
            *(mmc_drives.with_ufs_limit(drive, kernel.get(drive.label)) for drive in polled),
            *(drive for drive in mmc_drives.watched(devices) if drive.label not in known),
        ]

    def health_of(self, label: str) -> DriveHealth | None:
        """Returns the last health of a drive; None if it is too old or the drive is not known."""
        device = self._devices().get(label)
        mmc = None if device is None else device.state.mmc
        polled = self.drives.health_of(label)
        return mmc_drives.mmc_health(mmc) if polled is None and mmc is not None else polled

    def reconfigure(self, settings: Settings) -> None:
        """Applies reloaded settings. If the polling plan has changed, the poller is restarted.

        `smart.source` and `smart.directory` change only at a restart.
        """
        before, self.settings = self.settings, settings
        self.drives.reconfigure(
            settings.rated_bytes(),
            settings.smart.max_age_intervals,
            _first_answer_seconds(settings),
        )
        from exporter.smart import polling_plan  # noqa: PLC0415  see `_new_poller`

        if polling_plan.of(before) != polling_plan.of(settings):
            self.source.restart_polling()

    def read_once(self) -> None:
        """Reads the agent's documents, or polls each drive once, and returns.

        Another process may poll the drives at the same time. On some drives, two smartctl processes
        disturb each other. These drives are left out. Problems are reported to the collector
        status. The call takes at most the longest timeout of a drive plus one minute.
        """
        self._is_alone = False
        longest = self.settings.longest_smart_timeout_seconds()
        try:
            self.source.read_once(_ONCE_SCAN_SECONDS + longest + _ONCE_END_SECONDS)
        finally:
            self.source.close()

    def _new_poller(self) -> "Poller":
        # Not imported beside an agent: it takes 0.4 MB.
        from exporter.smart import polling_plan  # noqa: PLC0415
        from exporter.smart.polling.poller import Poller, adopt_leftovers  # noqa: PLC0415

        path = self.settings.path
        plan = polling_plan.of(self.settings)
        children = self._children()
        if self._is_alone and isinstance(children, SystemChildren):
            adopt_leftovers(children, plan.program)
        return Poller(
            children,
            self._clock,
            plan if self._is_alone else polling_plan.shared(self.settings)[0],
            sys=path.sysfs,
            root=path.rootfs,
            on_document=self.drives.record,
            on_heartbeat=self.drives.update,
            heartbeat_seconds=STEP_SECONDS,
        )


def _first_answer_seconds(settings: Settings) -> float:
    return settings.smart.timeout_seconds + _FIRST_ANSWER_MARGIN_SECONDS
