"""The health of eMMC and UFS drives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.health import DriveHealth, Endurance, EnduranceSource
from exporter.drives.watched_drive import WatchedDrive
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.mmc_sysfs import MmcHealth
from exporter.smart.drive_problems import CheckThresholds, Status, problems, wear_percent
from exporter.smart.mmc_drives import mmc_health, with_ufs_limit

UFS = DeviceIdentity("FLU256", transport="ufs")
UNSUPPORTED = DriveHealth(unreadable="the drive reports that it does not support SMART")


def found(health: DriveHealth) -> list[tuple[Status, str]]:
    drive = WatchedDrive("mmcblk0", "0x1", "/dev/mmcblk0", up=True, is_polled=False, health=health)
    return [(each.status, each.text) for each in problems(drive, CheckThresholds())]


def health_of(mmc: MmcHealth) -> DriveHealth:
    health = mmc_health(mmc)
    assert health is not None
    return health


@pytest.mark.parametrize(
    ("type_a", "type_b", "area", "ratio"),
    [(0.0, 0.1, "B", 0.1), (0.7, 0.1, "A", 0.7), (None, 0.3, "B", 0.3), (0.2, None, "A", 0.2)],
)
def test_the_area_that_is_more_worn_counts(
    type_a: float | None, type_b: float | None, area: str, ratio: float
) -> None:
    endurance = health_of(MmcHealth(type_a, type_b)).endurance
    assert Endurance(ratio, EnduranceSource.MMC_LIFE_TIME, 0.1) == endurance
    assert endurance is not None
    assert f"type {area}" in endurance.rule


@pytest.mark.parametrize("mmc", [MmcHealth(), MmcHealth(reserve="normal")])
def test_without_a_value_there_is_no_health(mmc: MmcHealth) -> None:
    """The state "normal" alone means that 20 to 100 % of the reserved blocks are left."""
    assert mmc_health(mmc) is None


@pytest.mark.parametrize(
    ("ratio", "words", "status"),
    [
        (0.0, "0-10", None),
        (0.6, "60-70", None),
        (0.7, "70-80", None),
        (0.8, "80-90", Status.WARNING),
        (0.9, "90-100", Status.WARNING),
        (1.0, "100+", Status.WARNING),
    ],
)
def test_wear_is_a_range_and_a_problem_if_it_is_certain(
    ratio: float, words: str, status: Status | None
) -> None:
    health = health_of(MmcHealth(ratio, 0.0))
    assert health.endurance is not None
    assert words == wear_percent(health.endurance)
    text = f"{words} % of its rated endurance is used"
    assert ([] if status is None else [(status, text)]) == found(health)


def test_a_gauge_that_has_stopped_is_shown_as_a_lower_bound() -> None:
    worn = Endurance(0.99, EnduranceSource.FAMILY_RULE, is_lower_bound=True)
    assert "99+" == wear_percent(worn)


@pytest.mark.parametrize(
    ("reserve", "expected"),
    [
        ("normal", []),
        ("warning", [(Status.WARNING, "at most 20 % of its spare blocks are left")]),
        ("urgent", [(Status.CRITICAL, "at most 10 % of its spare blocks are left")]),
    ],
)
def test_severity_of_the_reserved_blocks(reserve: str, expected: list[tuple[Status, str]]) -> None:
    limit = "; its limit is 10 %"
    health = health_of(MmcHealth(0.1, 0.1, reserve))
    assert [(status, text + limit) for status, text in expected] == found(health)


@given(st.none() | st.floats(0, 1), st.none() | st.floats(0, 1), st.text())
def test_no_value_is_invented(type_a: float | None, type_b: float | None, reserve: str) -> None:
    health = mmc_health(MmcHealth(type_a, type_b, reserve))
    known = [ratio for ratio in (type_a, type_b) if ratio is not None]
    used = None if health is None or health.endurance is None else health.endurance.used_ratio
    assert max(known, default=None) == used


def test_ufs_drive_without_smart_says_where_its_wear_is() -> None:
    drive = WatchedDrive("sda", "1", "/dev/sda", up=True, health=UNSUPPORTED)
    told = with_ufs_limit(drive, UFS).health
    assert told is not None
    assert "smartctl cannot read the wear of a UFS drive" in told.unreadable
    assert "/sys/block/sda/device/../../../health_descriptor" in told.unreadable


def test_ufs_drive_with_other_values_keeps_them() -> None:
    drive = WatchedDrive("sda", "1", "/dev/sda", up=True, health=DriveHealth(healthy=True))
    told = with_ufs_limit(drive, UFS)
    assert drive.health == told.health
    assert "health_descriptor" in told.wearout_missing


@pytest.mark.parametrize("kernel", [None, DeviceIdentity(transport="sas")])
def test_other_drives_are_unchanged(kernel: DeviceIdentity | None) -> None:
    drive = WatchedDrive("sda", "1", "/dev/sda", up=True, health=UNSUPPORTED)
    assert drive is with_ufs_limit(drive, kernel)
