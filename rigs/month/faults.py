"""Ten gradual faults of a drive, each with the alert that must fire before the drive fails."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from rigs.month.demand import DAY
from rigs.month.health_data import HealthData

#: Days of the course of a fault, independent of the length of the simulated month.
DAYS = 30.0

Course = Callable[[HealthData, float], HealthData]


def _none(health_data: HealthData, _day: float) -> HealthData:
    return health_data


@dataclass(frozen=True, slots=True)
class Fault:
    """A gradual fault.

    alert: the alert that must fire before the drive fails on day `lost` of 30. health_data: changes
    the health data of the drive. slowness, cache: as in `ModelDrive`. link: remaining share of the
    link speed. With any of these three the drive has I/O load, second by second. also: further
    alerts that must fire before the drive fails.
    """

    name: str
    kind: str
    alert: str
    lost: float
    health_data: Course = _none
    slowness: Callable[[float], float] | None = None
    cache: Callable[[float], float] | None = None
    link: Callable[[float], float] | None = None
    also: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        return self.name.replace(" ", "-")

    @property
    def works(self) -> bool:
        return any((self.slowness, self.cache, self.link))


def after(day: float, begin: float, rate: float) -> float:
    """Growth at `rate` per day since day `begin`."""
    return max(0.0, day - begin) * rate


def _worn(health_data: HealthData, day: float) -> HealthData:
    return replace(health_data, used=0.78 + 0.005 * day)


def _used_up(health_data: HealthData, day: float) -> HealthData:
    # 40 TB per percent as usual, at 1.33 percent per day: an application that rewrites its data.
    used = 0.6 + 0.0134 * day
    return replace(health_data, used=used, written_bytes=used * 4e15)


def _reallocates(health_data: HealthData, day: float) -> HealthData:
    return replace(health_data, reallocated=3 + int(after(day, 6, 1) ** 1.6))


def _loses_data(health_data: HealthData, day: float) -> HealthData:
    errors = sum(day >= each for each in (6.3, 13.6, 19.1, 22.4, 24.0, 25.5))
    return replace(health_data, media_errors=health_data.media_errors + errors)


def _gets_warm(health_data: HealthData, day: float) -> HealthData:
    celsius = health_data.celsius + after(day, 5, 1.2)
    return replace(health_data, celsius=celsius, hot_seconds=after(day, 18, 0.12 * DAY))


def _spends_spare(health_data: HealthData, day: float) -> HealthData:
    return replace(health_data, spare=max(0.0, 1 - after(day, 3, 0.035)))


def _loose(health_data: HealthData, day: float) -> HealthData:
    errors = health_data.interface_errors + int(after(day, 8, 1.5) ** 1.2)
    return replace(health_data, interface_errors=errors)


FAULTS = (
    Fault("wears out", "nvme", "SSDWearCritical", 29, _worn),
    Fault("wears out within 30 days", "nvme", "SSDWearoutSoon", 29.5, _used_up),
    Fault("replaces blocks", "sata", "SSDReallocatedGrowing", 24, _reallocates),
    Fault("loses data now and then", "sata", "SSDMediaErrorsRepeated", 26, _loses_data),
    Fault("spends its spare", "nvme", "SSDSpareFalling", 29, _spends_spare),
    Fault("gets warmer", "nvme", "SSDTemperatureHigh", 28, _gets_warm),
    Fault("has a loose cable", "sata", "SSDInterfaceErrors", 25, _loose),
    Fault(
        "loses lanes",
        "nvme",
        "SSDLinkDegraded",
        20,
        # The link retrains occasionally and returns to full width for minutes, until it no longer
        # does.
        link=lambda day: 0.5 if day >= 9 or (6 <= day and day % 0.1 < 0.09) else 1.0,
    ),
    Fault(
        "gets slower",
        "nvme",
        "SSDReadProbeSlow",
        29,
        # A factor of 100 in 24 days: 20 % per day, so that consecutive days differ little.
        slowness=lambda day: math.exp(math.log(100) * after(day, 4, 1) / 24),
        # Compares the learned baseline with that of the first day: needs no probes.
        also=("SSDDriveGettingSlower",),
    ),
    Fault(
        "loses its cache",
        "nvme",
        "SSDWriteCacheFalloff",
        28,
        cache=lambda day: max(0.05, 1 - after(day, 5, 0.05)),
    ),
)

BY_NAME = {fault.name: fault for fault in FAULTS}
