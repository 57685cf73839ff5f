"""One disk of each kind, with the directories and links that the kernel creates for it."""

import shutil
from pathlib import Path

import pytest

from exporter.config.drive_class import VolumeType
from exporter.io.volume_models import volume_type
from exporter.linux import device, topology
from exporter.linux.device import ArraySync, Device, DeviceEntry
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.links import LinkSpeed
from exporter.linux.mmc_sysfs import MmcHealth
from exporter.linux.pcie import PcieErrors
from tests.linux import trees
from tests.linux.trees import Sys

GEN3_X4 = 4 * (8e9 * (128 / 130) / 8)


def device_of(sys: Sys, name: str) -> Device:
    entry = next(e for e in topology.list_entries(sys.root) if e.directory_name == name)
    parsed = device.read(sys.root, entry)
    assert parsed.faults == ()
    assert parsed.value is not None
    return parsed.value


@pytest.fixture
def sys(tmp_path: Path) -> Sys:
    # The directories above /sys look like buses, and must not be taken for one.
    return Sys(tmp_path / "usb1" / "ata1" / "sys")


def test_nvme(sys: Sys) -> None:
    """Identity, state, link and errors of a namespace come from its controller."""
    trees.nvme(sys)
    found = device_of(sys, "nvme0n1")
    expected = DeviceIdentity(
        model="Flashworks F900 960GB",
        serial="FW000000",
        firmware="FW010203",
        wwn="eui.0025300000000001",
        transport="nvme",
        protocol="nvme",
        controllers=("nvme0",),
        temperature_warning_celsius=77.85,
        temperature_critical_celsius=84.85,
    )
    assert expected == found.identity
    assert found.state.ok is True
    assert LinkSpeed(GEN3_X4, GEN3_X4) == found.state.link
    assert (("nvme0", PcieErrors(7, 2, 0)),) == found.state.pcie_errors
    assert ("disk", 960_197_124_096) == (found.block.kind, found.block.capacity_bytes)


def test_temperature_limits_before_linux_5_18(sys: Sys) -> None:
    trees.nvme(sys)
    controller = (sys.root / "class" / "nvme" / "nvme0").resolve()
    monitor = controller / "device" / "hwmon"
    monitor.mkdir()
    (controller / "hwmon1").rename(monitor / "hwmon4")
    assert device_of(sys, "nvme0n1").identity.temperature_critical_celsius == 84.85


def test_nvme_multipath(sys: Sys) -> None:
    """The paths of a head yield its controllers: nvme0n1 belongs to nvme3 and nvme1, not nvme0."""
    trees.nvme(sys, 5)
    trees.nvme_multipath(sys, 0, (3, 1))
    head = device_of(sys, "nvme0n1")
    assert ("nvme1", "nvme3") == head.identity.controllers
    assert ("Flashworks F990 DP", "DP000001") == (head.identity.model, head.identity.serial)
    assert ["nvme1", "nvme3"] == [name for name, _ in head.state.pcie_errors]
    assert head.block.is_leaf
    path = device_of(sys, "nvme0c3n1")
    assert ("path", None, False) == (path.block.kind, path.block.number, path.block.is_leaf)
    assert ("nvme3",) == path.identity.controllers


def test_nvme_multipath_without_paths(sys: Sys) -> None:
    """Without visible paths the links of the subsystem yield the controllers."""
    trees.nvme_multipath(sys, 0, (3, 1))
    for name in ("nvme0c3n1", "nvme0c1n1"):
        sys.remove(name)
    assert ("nvme1", "nvme3") == device_of(sys, "nvme0n1").identity.controllers


@pytest.mark.parametrize("state", ["resetting", "connecting", "dead", "deleting"])
def test_one_controller_not_live(sys: Sys, state: str) -> None:
    """One controller that is not live makes the state false; an unknown one makes it unknown."""
    head = trees.nvme_multipath(sys, 0, (3, 1))
    controller = sys.root / "class/nvme/nvme1/state"
    controller.write_text(f"{state}\n")
    assert device_of(sys, Path(head).name).state.ok is False
    controller.unlink()
    assert device_of(sys, Path(head).name).state.ok is None


def test_nvme_over_a_fabric(sys: Sys) -> None:
    """A controller without a PCI function has no link; its transport names the fabric."""
    trees.nvme(sys)
    controller = sys.root / "class/nvme/nvme0"
    (controller / "device").unlink()
    (controller / "transport").write_text("tcp\n")
    found = device_of(sys, "nvme0n1")
    assert ("nvme-tcp", None, ()) == (
        found.identity.transport,
        found.state.link,
        found.state.pcie_errors,
    )


def test_sata(sys: Sys) -> None:
    """A SATA drive has the names in page 0x89 and the link of its port."""
    trees.sata(sys, speed="3.0 Gbps")
    found = device_of(sys, "sda")
    expected = DeviceIdentity(
        model="Flashworks S500 Enterprise 480GB",
        serial="S00001",
        firmware="SVT07B6Q",
        wwn="naa.5002538f00000001",
        transport="sata",
        protocol="ata",
    )
    assert expected == found.identity
    assert LinkSpeed(300e6, 600e6) == found.state.link
    assert (True, 2, 0) == (found.state.ok, found.state.io_errors, found.state.io_timeouts)
    assert found.block.queue.scheduler == "mq-deadline"


def test_sata_drive_slower_than_its_port(sys: Sys) -> None:
    """A drive with 3 Gbit/s at a port with 6 runs at its maximum, according to IDENTIFY."""
    place = trees.sata(sys, speed="3.0 Gbps")
    page = trees.identify("m", "s", "f", generations=0b0110)
    sys.write(place, {"device/vpd_pg89": page})
    assert LinkSpeed(300e6, 300e6) == device_of(sys, "sda").state.link


def test_sata_without_pages(sys: Sys) -> None:
    """Without VPD pages only SCSI's shorter names are known, and no serial number."""
    place = sys.root / trees.sata(sys)
    for page in ("vpd_pg80", "vpd_pg89"):
        (place / "device" / page).unlink()
    found = device_of(sys, "sda").identity
    assert ("Flashworks S500", None, "7B6Q", "sata") == (
        found.model,
        found.serial,
        found.firmware,
        found.transport,
    )


def test_broken_page(sys: Sys) -> None:
    """A truncated page affects only its own fields, and each reading reports the fault."""
    place = trees.sata(sys)
    sys.write(place, {"device/vpd_pg89": b"\0\x89\x02\x38cut"})
    entry = DeviceEntry("sda")
    parsed = device.read(sys.root, entry)
    assert parsed.value is not None
    assert parsed.value.identity.serial == "S00001"
    assert ["vpd_pg89" in str(fault) for fault in parsed.faults] == [True]
    assert parsed.faults == device.read(sys.root, entry, parsed.value).faults


def test_sata_on_sas(sys: Sys) -> None:
    """The transport is SATA, and the maximum is 6 Gbit/s at a port with 12 (S4-13)."""
    trees.sata_on_sas(sys, rate="1.5 Gbit")
    found = device_of(sys, "sdb")
    assert ("sata", "ata") == (found.identity.transport, found.identity.protocol)
    assert LinkSpeed(150e6, 600e6) == found.state.link


def test_sas(sys: Sys) -> None:
    """A SAS drive has a vendor of its own, and the link of its port's phy."""
    trees.sas(sys)
    found = device_of(sys, "sdc")
    expected = DeviceIdentity(
        model="X700 1.6TB",
        vendor="FLASHWKS",
        serial="X7000001",
        firmware="A1C2",
        wwn="naa.5000c50000000001",
        transport="sas",
        protocol="scsi",
    )
    assert expected == found.identity
    assert LinkSpeed(1200e6, 1200e6) == found.state.link


def test_usb(sys: Sys) -> None:
    """A USB drive has the names of the bridge and the nearest device's link (S2-4, S2-12)."""
    trees.usb(sys)
    found = device_of(sys, "sdd")
    assert DeviceIdentity("Storage", "SSK", transport="usb", protocol="scsi") == found.identity
    assert LinkSpeed(500e6, None) == found.state.link
    assert found.block.queue.optimal_io_bytes == 33553920


def test_raid_volume(sys: Sys) -> None:
    """A volume of a RAID controller is a SCSI disk without further information."""
    target = "devices/pci0000:00/0000:05:00.0/host0/target0:2:0/0:2:0:0"
    trees._scsi_disk(sys, target, "sdx", {"vendor": "DELL    ", "model": "PERC H730P Mini "})
    found = device_of(sys, "sdx")
    assert (
        DeviceIdentity("PERC H730P Mini", "DELL", transport="scsi", protocol="scsi")
        == found.identity
    )
    assert (True, None) == (found.state.ok, found.state.link)


def test_offline_scsi_device(sys: Sys) -> None:
    """The state of a SCSI device that the kernel has set offline is false."""
    sys.write(trees.sata(sys), {"device/state": "offline"})
    assert device_of(sys, "sda").state.ok is False


def test_virtio(sys: Sys) -> None:
    """A virtio disk has the serial number that the hypervisor sets, and no model."""
    trees.virtio(sys)
    trees.virtio(sys, "vdb", serial="")
    assert DeviceIdentity(serial="vol-0001", transport="virtio") == device_of(sys, "vda").identity
    assert device_of(sys, "vdb").identity.serial is None


def test_mmc(sys: Sys) -> None:
    """An eMMC has the names in its CID register, and its boot area is not a drive."""
    trees.mmc(sys)
    expected = DeviceIdentity("FLW032", serial="0x12345678", firmware="0x5", transport="mmc")
    assert expected == device_of(sys, "mmcblk0").identity
    assert not device_of(sys, "mmcblk0boot0").block.is_leaf


def test_wear_of_an_emmc_is_read_again(sys: Sys) -> None:
    """The kernel's values of the last boot; the boot area has no wear of its own."""
    trees.mmc(sys, "0x01 0x02", "0x01")
    first = device_of(sys, "mmcblk0")
    assert MmcHealth(0.0, 0.1, "normal") == first.state.mmc
    assert device_of(sys, "mmcblk0boot0").state.mmc is None
    sys.write("block/mmcblk0", {"device/life_time": "0x01 0x03"})
    again = device.read(sys.root, first.entry, first).value
    assert again is not None
    assert MmcHealth(0.0, 0.2, "normal") == again.state.mmc


def test_sd_card_has_no_wear(sys: Sys) -> None:
    trees.mmc(sys)
    assert device_of(sys, "mmcblk0").state.mmc is None


def test_malformed_wear_of_an_emmc_is_a_fault(sys: Sys) -> None:
    trees.mmc(sys, "0x01 0xff", "0x02")
    (entry,) = (e for e in topology.list_entries(sys.root) if e.directory_name == "mmcblk0")
    parsed = device.read(sys.root, entry)
    assert parsed.value is not None
    assert MmcHealth(reserve="warning") == parsed.value.state.mmc
    (fault,) = parsed.faults
    assert "device/life_time: life_time: a reserved code" in str(fault)


def test_ufs(sys: Sys) -> None:
    """A UFS drive is a SCSI disk at a host of the driver ufshcd, and no volume of a controller."""
    trees.ufs(sys)
    expected = DeviceIdentity(
        "FLU256",
        "FLASHWKS",
        serial="U256000001",
        firmware="0200",
        transport="ufs",
        protocol="scsi",
    )
    found = device_of(sys, "sde").identity
    assert expected == found
    assert VolumeType.DRIVE is volume_type("sde", found)


def test_slash_in_a_name(sys: Sys) -> None:
    """cciss!c0d0 in sysfs is cciss/c0d0 elsewhere in the kernel, and so are its partitions."""
    trees.cciss(sys)
    found = device_of(sys, "cciss!c0d0").block
    assert ("cciss/c0d0", "disk") == (found.name, found.kind)
    assert ["cciss/c0d0p1"] == [p.name for p in found.partitions]


@pytest.mark.parametrize(
    ("place", "kind", "is_leaf"),
    [
        ("devices/virtual/block/loop0", "loop", True),
        ("devices/virtual/block/ram0", "ram", True),
        ("devices/virtual/block/zram0", "zram", True),
        ("devices/virtual/block/nbd3", "nbd", True),
        ("devices/virtual/block/dm-0", "dm", False),
        ("devices/virtual/block/md127", "md", False),
        ("devices/pci0000:00/ata2/host1/target1:0:0/1:0:0:0/block/sr0", "optical", False),
        ("devices/platform/floppy.0/block/fd0", "floppy", False),
        ("devices/vbd-51712/block/xvda", "disk", True),
    ],
)
def test_kinds(sys: Sys, place: str, kind: str, is_leaf: bool) -> None:
    """The path and the name of a disk yield its kind."""
    sys.disk(place)
    found = device_of(sys, place.rpartition("/")[2]).block
    assert (kind, is_leaf) == (found.kind, found.is_leaf)


def test_md(sys: Sys) -> None:
    """The number of missing members is read again each time; other disks have none."""
    trees.sata(sys)
    trees.md(sys, "md0", "sda", degraded=1)
    array = device_of(sys, "md0")
    assert (1, ("sda",)) == (array.degraded_members, array.block.slaves)
    sys.write("block/md0", {"md/degraded": "0"})
    again = device.read(sys.root, array.entry, array).value
    assert again is not None
    assert again.degraded_members == 0
    assert device_of(sys, "sda").degraded_members is None


@pytest.mark.parametrize(
    ("action", "completed", "expected"),
    [
        ("idle", "none", ArraySync("idle")),
        ("recover", "250 / 1000", ArraySync("recover", 0.25)),
        ("recover", "delayed", ArraySync("recover")),
        ("check", "5 / 0", ArraySync("check")),
        ("garbage", "1 / 2", None),
    ],
)
def test_what_an_array_synchronizes(
    sys: Sys, action: str, completed: str, expected: ArraySync | None
) -> None:
    trees.sata(sys)
    trees.md(sys, "md0", "sda", degraded=1)
    sys.write("block/md0", {"md/sync_action": action, "md/sync_completed": completed})
    assert expected == device_of(sys, "md0").sync


def test_unusual_characters_in_names(sys: Sys) -> None:
    """Quotes and control characters stay unchanged; invalid UTF-8 becomes escapes."""
    place = trees.sas(sys)
    sys.write(place, {"device/model": b'X"7\\\xff\x01 y  ', "device/vendor": b"   "})
    found = device_of(sys, "sdc").identity
    assert ('X"7\\\\xff\x01 y', None) == (found.model, found.vendor)


def test_disk_disappears_before_it_is_read(sys: Sys) -> None:
    """The result is None, with and without a known device."""
    place = trees.sata(sys)
    known = device_of(sys, "sda")
    shutil.rmtree(sys.root / place)
    for before in (None, known):
        assert device.read(sys.root, known.entry, before).value is None


def test_controller_disappears(sys: Sys) -> None:
    """A controller that disappears before its namespace leaves the names unknown."""
    place = trees.nvme(sys)[0]
    for name in ("model", "serial", "state", "device"):
        (sys.root / place).parent.joinpath(name).unlink()
    found = device_of(sys, "nvme0n1")
    assert (None, None, None) == (found.identity.model, found.identity.serial, found.state.ok)
