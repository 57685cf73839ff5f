"""Faults of simulated hosts, and the alert that each one must raise on every engine."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rigs.fleet.page import MARK, Line
from rigs.fleet.targets import Target

_DRIVE = "nvme1n1"
_OF_DRIVE = f'device="{_DRIVE}"'
_OF_SERIAL = f'device="{_DRIVE}",serial="{MARK}{_DRIVE}"'

#: Start of the faults of each group in seconds. The second group starts while a Receive is down.
FIRST, SECOND = 0.0, 120.0
#: End of the faults that end, in seconds.
END = 240.0


class Change(NamedTuple):
    """A change of a series during a fault.

    value: value during the fault; None keeps the value of the healthy page. rate: increase per
    second during the fault, in addition to that of the healthy page.
    """

    series: str
    value: float | None = None
    rate: float = 0.0


class Fault(NamedTuple):
    """A fault of a host from `begin` to `end`, in seconds.

    alert, severity: the alert that it must raise. is_silent: the host does not answer from the
    second `silent` on.
    """

    name: str
    alert: str
    severity: str
    changes: tuple[Change, ...]
    begin: float = FIRST
    end: float = math.inf
    silent: float = math.inf

    def is_active(self, seconds: float) -> bool:
        return self.begin <= seconds < self.end

    def answers(self, seconds: float) -> bool:
        """Returns whether the host answers scrapes."""
        return not self.silent <= seconds < self.end


FAULTS = (
    Fault(
        "a drive predicts its failure",
        "SSDDriveFailing",
        "critical",
        (Change(f"ssd_smart_healthy{{{_OF_SERIAL}}}", 0),),
    ),
    Fault(
        "a drive hangs",
        "SSDDiskStalled",
        "critical",
        (Change(f"ssd_disk_stalled_seconds_total{{{_OF_DRIVE}}}", rate=1),),
        end=END,
    ),
    Fault(
        "a filesystem becomes read-only",
        "SSDFilesystemReadonly",
        "critical",
        (Change(f'ssd_filesystem_readonly{{{_OF_DRIVE},mountpoint="/"}}', 1),),
        end=END,
    ),
    Fault(
        "a drive is saturated and MySQL waits",
        "SSDDiskSaturatedSevere",
        "critical",
        (
            Change(f"ssd_disk_saturated_seconds_total{{{_OF_DRIVE}}}", rate=1),
            Change(
                "ssd_cgroup_pressure_io_stalled_seconds_total"
                '{cgroup="/system.slice/mysql.service"}',
                rate=0.8,
            ),
        ),
    ),
    Fault(
        "a worn drive has 10 days left",
        "SSDWearoutSoon",
        "critical",
        (
            Change(f"ssd_smart_endurance_used_ratio{{{_OF_SERIAL}}}", 0.97),
            Change(f'ssd_smart_wearout_eta_seconds{{{_OF_SERIAL},bound="low"}}', 864_000),
        ),
    ),
    Fault(
        "a drive reallocated sectors since last week",
        "SSDReallocatedGrowing",
        "warning",
        (Change(f"ssd_smart_reallocated_sectors_total{{{_OF_SERIAL}}}", 60),),
    ),
    Fault(
        "a RAID array is degraded",
        "SSDRaidDegraded",
        "critical",
        (Change('ssd_md_degraded_disks{device="md0"}', 1),),
        end=END,
    ),
    Fault(
        "a host with a failing drive becomes silent",
        "SSDFailingHostSilent",
        "critical",
        (Change(f"ssd_smart_healthy{{{_OF_SERIAL}}}", 0),),
        silent=SECOND,
    ),
    Fault(
        "a host becomes silent and answers again",
        "SSDExporterDown",
        "warning",
        (),
        silent=FIRST,
        end=END,
    ),
    Fault(
        "the spare blocks are exhausted",
        "SSDSpareExhausted",
        "critical",
        (Change(f"ssd_smart_spare_ratio{{{_OF_SERIAL}}}", 0.05),),
        begin=SECOND,
    ),
    Fault(
        "a drive disappears from the controller",
        "SSDDriveOffline",
        "critical",
        (Change(f"ssd_device_state_ok{{{_OF_DRIVE}}}", 0),),
        begin=SECOND,
    ),
    Fault(
        "a drive is at its critical temperature",
        "SSDTemperatureCritical",
        "critical",
        (Change(f'ssd_smart_temperature_celsius{{{_OF_SERIAL},sensor="drive"}}', 90),),
        begin=SECOND,
        end=END,
    ),
    Fault(
        "media errors occur",
        "SSDMediaErrors",
        "warning",
        (Change(f"ssd_smart_media_errors_total{{{_OF_SERIAL}}}", 1),),
        begin=SECOND,
    ),
    Fault(
        "a filesystem reports errors",
        "SSDDatabaseFilesystemErrors",
        "critical",
        (Change(f'ssd_filesystem_errors_total{{{_OF_DRIVE},mountpoint="/"}}', rate=0.2),),
        begin=SECOND,
    ),
)

#: Two clusters with equally named hosts; only those of the first one fail.
_FAULTY, _HEALTHY = "east", "west"


def hosts() -> dict[Target, Fault | None]:
    """Returns the hosts of both clusters with their faults; None for a healthy host."""
    names = [f"db{number:02d}" for number in range(len(FAULTS) + 1)]
    failing = {
        Target(_FAULTY, name): fault for name, fault in zip(names, (*FAULTS, None), strict=True)
    }
    return {**failing, **{Target(_HEALTHY, name): None for name in names}}


def altered(lines: Sequence[Line], fault: Fault, seconds: float) -> Iterator[tuple[Line, float]]:
    """Yields the lines of a host with a fault, each with the value that the fault adds to it.

    A series that a healthy page lacks exists during the fault only.
    """
    changes: Mapping[str, Change] = {change.series: change for change in fault.changes}
    lasted = max(0.0, min(seconds, fault.end) - fault.begin)
    is_active = fault.is_active(seconds)
    known = set()
    for line in lines:
        known.add(line.series)
        change = changes.get(line.series)
        if change is None:
            yield line, 0.0
        elif change.value is not None and is_active:
            yield line._replace(start=change.value), change.rate * lasted
        else:
            yield line, change.rate * lasted
    for series, change in changes.items():
        if series not in known and is_active:
            yield Line(series, change.value or 0.0, 0.0), change.rate * lasted
