"""Values that no drive of this age, capacity and link can have."""

from typing import Any

import pytest

from exporter.drives.assessment.value_bounds import bounded
from exporter.drives.drive_link import ReportedLink
from exporter.drives.health import (
    DriveHealth,
    DriveIdentity,
    Endurance,
    EnduranceSource,
    Protocol,
    RejectionKind,
    UnitSource,
    WrittenBytes,
)

HOUR, YEAR = 3600.0, 8766 * 3600.0
NVME = DriveIdentity(protocol=Protocol.NVME, capacity_bytes=10**12)
ATA = DriveIdentity(protocol=Protocol.ATA, capacity_bytes=10**12)
DISK = DriveIdentity(protocol=Protocol.ATA, rotational=True)
SATA = ReportedLink(None, 600e6)


def written(number: float, *, is_confirmed: bool = False) -> WrittenBytes:
    return WrittenBytes(int(number), 512, UnitSource.STANDARD, "241", is_confirmed)


def worn(ratio: float) -> Endurance:
    return Endurance(ratio, EnduranceSource.NVME_LOG)


def unused(identity: DriveIdentity, link: ReportedLink = SATA, **values: Any) -> set[str]:
    """The fields that are not used of a health with these values."""
    health = bounded(DriveHealth(**values), identity, link)
    assert all(each.kind is RejectionKind.IMPOSSIBLE for each in health.rejected)
    lost = {name for name in values if getattr(health, name) is None}
    assert len(lost) == len(health.rejected)
    return lost


@pytest.mark.parametrize(
    ("identity", "values", "lost"),
    [
        (NVME, {"power_on_seconds": 25 * YEAR}, set()),
        (NVME, {"power_on_seconds": 26 * YEAR}, {"power_on_seconds"}),
        (ATA, {"power_on_seconds": 26 * YEAR}, {"power_on_seconds"}),
        (DISK, {"power_on_seconds": 39 * YEAR}, set()),
        (DISK, {"power_on_seconds": 41 * YEAR}, {"power_on_seconds"}),
        # Without a power-on time, nothing can be compared with it.
        (NVME, {"power_cycles": 10**9, "media_errors": 10**12}, set()),
        (NVME, {"power_on_seconds": 0.0, "power_cycles": 6112}, set()),
        (NVME, {"power_on_seconds": HOUR, "power_cycles": 50_000}, {"power_cycles"}),
        (NVME, {"power_on_seconds": HOUR, "unsafe_shutdowns": 50_000}, {"unsafe_shutdowns"}),
        (NVME, {"power_on_seconds": YEAR, "media_errors": 300_000_000}, set()),
        (NVME, {"power_on_seconds": YEAR, "media_errors": 2**32 - 2}, {"media_errors"}),
        (NVME, {"power_on_seconds": YEAR, "error_log_entries": 2**32}, {"error_log_entries"}),
        (NVME, {"power_on_seconds": 0.0, "controller_busy_seconds": HOUR}, set()),
        (
            NVME,
            {"power_on_seconds": 0.0, "controller_busy_seconds": 2 * HOUR},
            {"controller_busy_seconds"},
        ),
        (
            NVME,
            {"power_on_seconds": HOUR, "over_temperature_critical_seconds": YEAR},
            {"over_temperature_critical_seconds"},
        ),
        # PCIe transfers at most 32 GB/s, which is 230 TB in two hours, and SATA 600 MB/s.
        (NVME, {"power_on_seconds": HOUR, "host_written": written(2e14)}, set()),
        (NVME, {"power_on_seconds": HOUR, "host_written": written(3e14)}, {"host_written"}),
        (NVME, {"power_on_seconds": HOUR, "host_read": written(3e14)}, {"host_read"}),
        (ATA, {"power_on_seconds": HOUR, "host_written": written(4e12)}, set()),
        (ATA, {"power_on_seconds": HOUR, "host_written": written(5e12)}, {"host_written"}),
        (
            ATA,
            {"power_on_seconds": HOUR, "host_written": written(5e12, is_confirmed=True)},
            set(),
        ),
        # A drive that counts no hours has the wrong time, and not the wrong count.
        (ATA, {"power_on_seconds": 0.0, "nand_written": written(2e14)}, set()),
        (ATA, {"power_on_seconds": HOUR, "nand_written": written(2e14)}, {"nand_written"}),
        # 1 TB that is written 30,000 times at 0 % wear.
        (NVME, {"host_written": written(9e15), "endurance": worn(0.0)}, set()),
        (NVME, {"host_written": written(3e16), "endurance": worn(0.0)}, {"host_written"}),
        (NVME, {"host_written": written(3e16), "endurance": worn(0.5)}, set()),
    ],
)
def test_each_bound_at_both_sides(
    identity: DriveIdentity, values: dict[str, Any], lost: set[str]
) -> None:
    assert lost == unused(identity, **values)


def test_an_impossible_age_makes_no_other_value_impossible() -> None:
    values: dict[str, Any] = {"power_on_seconds": 100 * YEAR, "power_cycles": 12}
    assert {"power_on_seconds"} == unused(NVME, **values)
