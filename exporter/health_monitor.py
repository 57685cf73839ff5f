"""The health of one host's drives, put together; no threads, no network.

Imported only where it is wanted: it is 2 MB of a daemon that may hold 32.
"""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter import polling_plan
from exporter.attempts import Attempts
from exporter.background.drives import Drives, Surroundings
from exporter.background.inventory import Inventory
from exporter.background.polling import Polling
from exporter.background.smart import STEP_SECONDS, SmartWatch
from exporter.background.wear import Wear
from exporter.clock import Clock
from exporter.collectors import smart
from exporter.config import Settings
from exporter.diagnosis.wearout import WearoutRules
from exporter.linux.identity import Identity
from exporter.metrics.desc import Sample
from exporter.tools.children import Children

if TYPE_CHECKING:
    from exporter.background.history import History


class HealthMonitor:
    """Who asks the drives (`watch`), what they said (`drives`), and how they wear (`wear`).

    disks: who the kernel says that each disk is. written_bytes: what it has written to a device.
    kept_inventory: what an earlier run kept of `drives.to_keep`.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        attempts: Attempts,
        *,
        disks: Callable[[], Mapping[str, Identity]],
        written_bytes: Callable[[str], int | None],
        children: Callable[[], Children],
        kept_inventory: Any,
        history: "Callable[[], History] | None",
    ) -> None:
        self._clock = clock
        self._children = children
        self._shown: dict[tuple[str, str], tuple[tuple[object, ...], list[Sample]]] = {}
        self.settings = settings
        path = settings.path
        self.wear = None if history is None else Wear(history, WearoutRules())
        self.drives = Drives(
            clock,
            path.sysfs,
            path.rootfs,
            Surroundings(disks, written_bytes, polling_plan.rated_bytes(settings)),
            inventory=Inventory(kept_inventory),
            wear=self.wear,
            max_age_intervals=settings.smart.max_age_intervals,
        )
        self.watch = SmartWatch(
            settings.smart.source,
            settings.smart.directory,
            self.drives,
            clock=clock,
            attempts=attempts,
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
                its = [*smart.identity_samples(drive, described)]
                its += smart.drive_samples(
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
        found += smart.samples(stuck, heartbeat.at if heartbeat and by_agent else None)
        return found

    def _polling(self) -> Polling:
        path = self.settings.path
        return Polling(
            self._children(),
            self._clock,
            polling_plan.of(self.settings),
            sys=path.sysfs,
            root=path.rootfs,
            take=self.drives.take,
            call=self.drives.call,
            roll_seconds=STEP_SECONDS,
        )
