"""Which devices are watched."""

from pathlib import Path

import pytest

from exporter.config import (
    DeviceSettings,
    DiskSettings,
    Settings,
    SmartDrive,
    SmartSettings,
    device_filter,
)
from exporter.config_validation import validated
from exporter.errors import ConfigError

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
def test_drives_and_stacks_of_drives_are_watched(device: str) -> None:
    assert device_filter(DiskSettings())(device)


@pytest.mark.parametrize("device", OTHERS)
def test_partitions_and_what_is_no_drive_are_not(device: str) -> None:
    assert not device_filter(DiskSettings())(device)


def test_an_expression_to_include_takes_the_place_of_the_default() -> None:
    wanted = device_filter(DiskSettings(device_include="^(loop0|sda1?)$"))
    assert ["loop0", "sda", "sda1"] == [*filter(wanted, ("loop0", "loop1", "sda", "sda1", "sdb"))]


def test_an_expression_to_exclude_takes_the_place_of_the_default() -> None:
    wanted = device_filter(DiskSettings(device_exclude="^dm-"))
    assert ["sda1", "loop0"] == [*filter(wanted, ("dm-0", "sda1", "loop0"))]


def test_expressions_are_searched_anywhere_in_the_name() -> None:
    wanted = device_filter(DiskSettings(device_include="n1$"))
    assert ["nvme0n1", "nvme1n1"] == [*filter(wanted, ("nvme0n1", "nvme1n1", "nvme0n2"))]


def test_both_at_once_are_refused() -> None:
    with pytest.raises(ConfigError, match="are both set; set one of them"):
        device_filter(DiskSettings(device_include="a", device_exclude="b"))


@pytest.mark.parametrize("name", ["device_include", "device_exclude"])
def test_what_is_no_expression_is_refused_by_name(name: str) -> None:
    settings = DiskSettings("[", "") if name == "device_include" else DiskSettings("", "[")
    with pytest.raises(ConfigError, match=rf"^disk\.{name} is '\['.* not a regular expression: "):
        device_filter(settings)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            Settings(smart=SmartSettings(drive=(SmartDrive("sda", "sat"),))),
            r"^smart\.drive: 'sda': a drive is named by an absolute path; ",
        ),
        (
            Settings(smart=SmartSettings(drive=(SmartDrive("/dev/sda", "sat --all"),))),
            r"^smart\.drive: .*'sat --all' is no device type",
        ),
        (
            Settings(device={"sda": DeviceSettings(smart_type="sat;reboot")}),
            r"^device\.sda\.smart_type: .*'sat;reboot' is no device type",
        ),
        (
            Settings(smart=SmartSettings(directory=Path("run/agent"))),
            r"^smart\.directory is run/agent; name it by its whole path$",
        ),
    ],
)
def test_what_smartctl_could_never_be_given_is_refused(settings: Settings, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        validated(settings)


@pytest.mark.parametrize("kind", ["off", "", "sat,auto", "jmb39x-q,0,s33,force", "usbjmicron,x,1"])
def test_a_type_that_smartctl_may_have_is_taken(kind: str) -> None:
    settings = Settings(device={"sda": DeviceSettings(smart_type=kind)})
    assert settings is validated(settings)
