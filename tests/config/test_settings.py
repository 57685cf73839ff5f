"""The default selection of block devices, and the settings that replace it."""

import pytest

from exporter.config.settings import DiskSettings, device_filter

DRIVES = (
    *("sda", "sdz", "sdaa", "sdiv", "hda", "vda", "xvdf", "nvme0n1", "nvme11n2", "mmcblk0"),
    *("md0", "md127", "dm-0", "nbd0", "rbd0", "bcache0", "drbd1", "dasda", "pmem0"),
)
OTHERS = (
    *("sda1", "sdaa15", "hda2", "vda3", "xvda1", "nvme0n1p1", "nvme11n2p12", "mmcblk0p2"),
    *("mmcblk0boot0", "mmcblk0boot1", "mmcblk0rpmb", "md127p1", "nbd0p1", "rbd0p1", "bcache0p1"),
    *("ram0", "ram15", "zram0", "loop0", "loop12", "loop0p1", "fd0", "sr0", "zd0", "zd16p1"),
)


@pytest.mark.parametrize("device", DRIVES)
def test_drives_and_stacked_devices_are_exported(device: str) -> None:
    assert device_filter(DiskSettings())(device)


@pytest.mark.parametrize("device", OTHERS)
def test_partitions_and_devices_that_are_not_drives_are_excluded(device: str) -> None:
    assert not device_filter(DiskSettings())(device)


def test_device_include_replaces_the_default() -> None:
    is_exported = device_filter(DiskSettings(device_include="^(loop0|sda1?)$"))
    assert ["loop0", "sda", "sda1"] == [
        *filter(is_exported, ("loop0", "loop1", "sda", "sda1", "sdb"))
    ]


def test_device_exclude_replaces_the_default() -> None:
    is_exported = device_filter(DiskSettings(device_exclude="^dm-"))
    assert ["sda1", "loop0"] == [*filter(is_exported, ("dm-0", "sda1", "loop0"))]


def test_an_expression_matches_anywhere_in_the_name() -> None:
    is_exported = device_filter(DiskSettings(device_include="n1$"))
    assert ["nvme0n1", "nvme1n1"] == [*filter(is_exported, ("nvme0n1", "nvme1n1", "nvme0n2"))]
