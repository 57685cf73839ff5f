"""Mounts and roles to samples."""

from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.linux import topology
from exporter.metrics import device_collector
from tests.linux import trees
from tests.linux.trees import Sys, mount_line

Series = dict[tuple[str, ...], object]


@pytest.fixture
def host(tmp_path: Path) -> Sys:
    """A RAID 1 for MySQL's data, and a virtio disk for the rest; two servers."""
    sys = Sys(tmp_path / "sys")
    trees.sata(sys)
    trees.sata(sys, "sdb", 2)
    trees.virtio(sys)
    trees.md(sys, "md0", "sda", "sdb")
    root = mount_line(sys.number("vda"), "/")
    data = mount_line(sys.number("md0"), "/data", super_options="ro,errors=remount-ro")
    (tmp_path / "data").mkdir()
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "proc/1/mountinfo").write_text(root + data)
    sys.write("fs/ext4/md0", {"errors_count": "3"})
    for pid, name in ((10, "one"), (11, "two")):
        argv = ["mysqld", f"--datadir=/data/{name}"]
        trees.process(tmp_path / "proc", pid, argv, root + data)
    return sys


def any_device(name: str) -> bool:
    return bool(name)


def filesystem_values(
    sys: Sys, wanted: Callable[[str], bool] = any_device, probe: str | None = None
) -> dict[str, Series]:
    root = sys.root.parent
    configured = {} if probe is None else {"probe": (probe,)}
    found = topology.read(sys.root, root / "proc", root, None, configured).value
    families: dict[str, Series] = {}
    for sample in device_collector.filesystem_samples(found, wanted):
        family = families.setdefault(sample.desc.name, {})
        assert sample.labels not in family
        family[sample.labels] = sample.value
    return families


def test_mounts_and_roles(host: Sys) -> None:
    """One series per drive under a mount, and one per role of a drive, whoever plays it."""
    found = filesystem_values(host)
    mounts: Series = {
        ("vda", "/", "ext4"): 1,
        ("sda", "/data", "ext4"): 1,
        ("sdb", "/data", "ext4"): 1,
    }
    assert mounts == found["ssd_mount_info"]
    names = ("mysql-data", "mysql-doublewrite", "mysql-redo", "mysql-undo")
    roles: Series = {(device, name): 1 for device in ("sda", "sdb") for name in names}
    assert roles == found["ssd_device_role_info"]


def test_condition_of_roles_alone(host: Sys) -> None:
    """The filesystem that has a role shows its condition on each drive; others do not."""
    found = filesystem_values(host)
    labels = {("sda", "/data"), ("sdb", "/data")}
    assert dict.fromkeys(labels, 1) == found["ssd_filesystem_readonly"]
    assert dict.fromkeys(labels, 3) == found["ssd_filesystem_errors_total"]
    for family in ("ssd_filesystem_size_bytes", "ssd_filesystem_avail_bytes"):
        assert labels == found[family].keys()


def test_extra_mountpoint(host: Sys) -> None:
    """A filesystem that holds a probe directory shows its condition, too."""
    found = filesystem_values(host, probe="/")
    assert found["ssd_filesystem_readonly"]["vda", "/"] == 0
    assert ("vda", "/") in found["ssd_filesystem_size_bytes"]
    assert ("vda", "/") not in found["ssd_filesystem_errors_total"]


def test_mounts_of_unwanted_devices_have_no_samples(host: Sys) -> None:
    """Drives that are not wanted do not show."""
    found = filesystem_values(host, lambda name: name == "sdb")
    assert {"sdb"} == {labels[0] for series in found.values() for labels in series}
