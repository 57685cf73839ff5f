"""The drives below mounts and stacked devices."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import stack, topology
from exporter.linux.block import BlockDevice, QueueSettings
from exporter.linux.stack import Stack
from tests.linux import trees
from tests.linux.test_mountinfo import mount
from tests.linux.trees import Sys

NO_QUEUE = QueueSettings(None, None, None, None, None, None, None, None, None)


def disk(name: str, slaves: tuple[str, ...] = ()) -> BlockDevice:
    kind = "dm" if name.startswith("dm-") else "disk"
    return BlockDevice(name, Path(), None, None, kind, None, slaves, NO_QUEUE, ())


def stack_of(slaves: Mapping[str, tuple[str, ...]]) -> Stack:
    return stack.build_stack({name: disk(name, below) for name, below in slaves.items()}, {})


@pytest.fixture
def host(tmp_path: Path) -> Sys:
    """A RAID 1 of two SATA drives, and a volume on that RAID and an NVMe partition."""
    sys = Sys(tmp_path / "sys")
    for name, port in (("sda", 1), ("sdb", 2)):
        sys.partition(f"{trees.sata(sys, name, port)}/{name}1")
    sys.partition(f"{trees.nvme(sys)[0]}/nvme0n1p3")
    trees.md(sys, "md0", "sda1", "sdb1")
    trees.dm(sys, "dm-0", "vg-mysql", "md0", "nvme0n1p3")
    trees.dm(sys, "dm-1", "vg-cache", "dm-0")
    return sys


def read(sys: Sys) -> Stack:
    return topology.read(sys.root, sys.root.parent / "proc", sys.root.parent).value.stack


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sda", ("sda",)),
        ("sda1", ("sda",)),
        ("md0", ("sda", "sdb")),
        ("dm-0", ("sda", "sdb", "nvme0n1")),
        ("dm-1", ("sda", "sdb", "nvme0n1")),
        ("nothing", ()),
    ],
)
def test_leaves(host: Sys, name: str, expected: tuple[str, ...]) -> None:
    """Partitions, dm and md yield the drives below them, each once."""
    assert expected == read(host).leaves_of(name)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("/dev/sda1", ("sda",)),
        ("/dev/nvme0n1", ("nvme0n1",)),
        ("/dev/mapper/vg-mysql", ("sda", "sdb", "nvme0n1")),
        ("/dev/dm-0", ("sda", "sdb", "nvme0n1")),
        ("/dev/mapper/gone", ()),
        ("tank/data", ()),
        ("sda1", ()),
        ("", ()),
    ],
)
def test_anonymous_filesystem(host: Sys, source: str, expected: tuple[str, ...]) -> None:
    """A filesystem with an anonymous number, such as btrfs, is found by its source."""
    assert expected == read(host).drives_of(mount("/a", "0:45", source=source, fstype="btrfs"))


def test_mount_by_number(host: Sys) -> None:
    """The number has priority over the source: /dev/root is not a device, and names change."""
    root_mount = mount("/", host.number("sdb1"), source="/dev/root")
    assert read(host).drives_of(root_mount) == ("sdb",)
    assert read(host).drives_of(mount("/", "250:99", source="/dev/sda1")) == ()


def test_btrfs_pool(host: Sys) -> None:
    """A btrfs on two devices has both, though its mount names only one."""
    for name in ("sda1", "sdb1"):
        host.link(f"fs/btrfs/1b4e28ba/devices/{name}", f"class/block/{name}")
    host.write("fs/btrfs/features", {"raid1c34": "0"})
    root_mount = mount("/a", "0:45", source="/dev/sdb1", fstype="btrfs")
    assert read(host).drives_of(root_mount) == ("sda", "sdb")


def test_slash_in_a_name(tmp_path: Path) -> None:
    """/dev/cciss/c0d0p1 is a partition of cciss!c0d0, also below a volume."""
    sys = Sys(tmp_path / "sys")
    trees.cciss(sys)
    trees.dm(sys, "dm-0", "vg-a", "cciss!c0d0p1")
    found = read(sys)
    assert found.drives_of(mount("/", "0:45", source="/dev/cciss/c0d0p1")) == ("cciss/c0d0",)
    assert found.leaves_of("dm-0") == ("cciss/c0d0",)


def test_device_cycles_end() -> None:
    """Devices that are stacked on each other in a cycle have no leaves."""
    assert stack_of({"dm-0": ("dm-1",), "dm-1": ("dm-0", "dm-1")}).leaves_of("dm-0") == ()


def test_volume_without_devices_has_no_leaves() -> None:
    """A volume whose devices have disappeared is not a leaf itself."""
    assert stack_of({"dm-0": (), "dm-1": ("sdz",)}).leaves_of("dm-0") == ()
    assert stack_of({"dm-1": ("sdz",)}).leaves_of("dm-1") == ()


NAMES = st.sampled_from(["sda", "sdb", "dm-0", "dm-1", "dm-2", "gone"])


@given(st.dictionaries(NAMES, st.lists(NAMES).map(tuple)), NAMES)
def test_any_stack(slaves: dict[str, tuple[str, ...]], name: str) -> None:
    """For any stack, the leaves are existing disks, each once."""
    found = stack_of(slaves).leaves_of(name)
    assert len(set(found)) == len(found)
    assert set(found) <= {n for n, below in slaves.items() if not below and "dm" not in n}
