"""One drive as the exporter evaluates it, with simulated samples and SMART reports."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from exporter.config.disk_rules import DiskRules
from exporter.config.drive_class import DriveClass
from exporter.drives.drive_identity import identity_key
from exporter.drives.health import DriveHealth
from exporter.drives.watched_drive import WatchedDrive
from exporter.families import device_families
from exporter.families.desc import Sample
from exporter.io.activity import DiskActivity
from exporter.io.baseline import Baselines
from exporter.io.drive import Drive
from exporter.io.interval import disk_interval
from exporter.io.slowdown import SlowdownEvidence, slowdown_evidence
from exporter.io.verdict import DiskContext, tasks_wait_for_io
from exporter.linux.diskstats import DiskStats
from exporter.metrics.smart_collector import drive_samples
from exporter.smart.drive_record import DriveRecord
from exporter.smart.polling.poll_document import PollDocument
from exporter.wear.wear_recorder import WearRecorder
from rigs.month.demand import Demand
from rigs.month.drive import Make, ModelDrive
from rigs.month.health_data import HealthData, report, serial

_FULL_LINK = {"nvme": 3_938_461_538.46, "sata": 600_000_000.0}


class Presence(Enum):
    """Whether a drive is there. MISSING: it is gone, and the exporter remembers it."""

    PRESENT = "present"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class DriveIdentity:
    """Identity of a drive.

    name: block device. kind: nvme or sata. number: determines the serial number.
    """

    name: str
    kind: str
    number: int

    @property
    def serial(self) -> str:
        return serial(self.kind, self.number)


class MonitoredDrive:
    """A monitored drive. `make` is its model; None for a drive without I/O load."""

    def __init__(self, identity: DriveIdentity, make: Make | None, wear: WearRecorder) -> None:
        self.identity = identity
        self.make = make
        self.model: ModelDrive | None = None
        self.activity: DiskActivity | None = None
        self.stats: DiskStats | None = None
        self.link_ratio = 1.0
        self.presence = Presence.PRESENT
        self._record: DriveRecord | None = None
        self._wear = wear
        self._rules = DiskRules()
        self._polls = 0
        self._smart: list[Sample] = []

    @property
    def is_present(self) -> bool:
        return self.presence is Presence.PRESENT

    @property
    def health(self) -> DriveHealth | None:
        return self._record.health if self._record else None

    def begin(self, baselines: Baselines, rules: DiskRules, now: float) -> None:
        """Starts after a boot: the counters of the kernel are 0."""
        if self.make is None:
            return
        kind = DriveClass.NVME if self.identity.kind == "nvme" else DriveClass.SSD
        drive = Drive(self.identity.serial, kind)
        its = baselines.for_drive(drive.identity)
        self._rules = rules
        self.activity = DiskActivity(drive, rules, its, now, self._condition)
        before, self.model = self.model, ModelDrive(self.identity.name, self.make, "8:0")
        if before is not None:
            self.model.slowness, self.model.cache_ratio = before.slowness, before.cache_ratio
        self.stats = None

    def work(self, now: float, wanted: Demand, number: int, seconds: int, waiting: float) -> float:
        """Processes one sample; returns the share of time in which tasks waited for this drive."""
        if self.model is None or self.activity is None:
            return waiting
        before, after = self.stats, self.model.work(wanted, number, seconds)
        self.stats = after
        if before is None:
            return waiting
        disk = disk_interval(before, after, seconds, self.activity.uncredited_seconds)
        if disk is None:
            return waiting
        # Tasks wait for reads, but rarely for write-back.
        waiting = max(waiting, 1 - math.exp(-0.15 * disk.read_seconds / seconds))
        is_waited_for = tasks_wait_for_io(waiting, self._rules.saturation)
        self.activity.record(now, disk, DiskContext(False, is_waited_for))
        return waiting

    def poll(self, at: float, health_data: HealthData, interval: float) -> None:
        """Polls the drive for SMART."""
        identity, self._polls = self.identity, self._polls + 1
        path, kind = (
            (f"/dev/{identity.name[:-2]}", "nvme")
            if identity.kind == "nvme"
            else (f"/dev/{identity.name}", "sat")
        )
        document = PollDocument(
            path,
            kind,
            "success",
            at,
            0.2,
            interval,
            is_daily=True,
            last_success_at=at,
            counts={"success": self._polls},
            report=report(identity.kind, identity.number, health_data),
        )
        if self._record is None:
            self._record = DriveRecord(document)
        record = self._record
        record.record(document, None)
        key, seen = identity_key(record.identity), record.wear()
        if key and seen:
            self._wear.record(key, seen, None)
            self._wear.process_queue()
        outlook = self._wear.remaining(key, at) if key else None
        self._smart = self._told(
            WatchedDrive(
                label=identity.name,
                serial=identity.serial,
                address=path,
                identity=record.identity,
                up=True,
                health=record.health,
                last_success_unix_time=at,
                poll_seconds=document.seconds,
                polls=document.counts,
                firmware_issues=record.firmware_issues,
                wearout_seconds=None if outlook is None else outlook[1],
                wearout_method="" if outlook is None else outlook[0],
            )
        )

    def become(self, presence: Presence) -> bool:
        """Inserts the drive, removes it, or makes the exporter forget it.

        Returns whether it was inserted.
        """
        if presence is self.presence:
            return False
        self.presence = presence
        # The counters of the kernel restart with the drive, and the next poll fills these samples.
        self.stats, self._smart = None, []
        if presence is Presence.MISSING:
            name, serial = self.identity.name, self.identity.serial
            self._smart = self._told(WatchedDrive(name, serial, name, is_missing=True))
        return presence is Presence.PRESENT

    def samples(self) -> Iterator[Sample]:
        """Samples of identity, link and health."""
        yield from self._smart
        if not self.is_present:
            return
        identity, is_nvme = self.identity, self.identity.kind == "nvme"
        model = "Example Datacenter NVMe" if is_nvme else "Example SATA SSD"
        controller = identity.name[:-2] if is_nvme else ""
        said = "nvme" if is_nvme else "sata", "nvme" if is_nvme else "ata", "0"
        yield device_families.DEVICE_INFO(
            1, identity.name, controller, model, "", identity.serial, "1", "", *said
        )
        yield device_families.DEVICE_QUEUE_INFO(1, identity.name, "none", "write through", "1", "1")
        yield device_families.DEVICE_STATE_OK(1, identity.name)
        full = _FULL_LINK[identity.kind]
        yield device_families.LINK_SPEED(full * self.link_ratio, identity.name)
        yield device_families.LINK_SPEED_MAX(full, identity.name)
        yield device_families.PARTITION_MISALIGNED(0, identity.name, f"{identity.name}p1")
        for severity in ("correctable", "nonfatal", "fatal") if is_nvme else ():
            yield device_families.PCIE_ERRORS(0, identity.name, severity)
        for desc in () if is_nvme else (device_families.IO_ERRORS, device_families.IO_TIMEOUTS):
            yield desc(2, identity.name)

    def _condition(self) -> SlowdownEvidence:
        return slowdown_evidence(None, self.health)

    @staticmethod
    def _told(drive: WatchedDrive) -> list[Sample]:
        return drive_samples(drive, raw_attributes=False, attribute_values=False)
