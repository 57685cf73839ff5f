"""Tests of `metrics.device_collector` and `metrics.filesystem_collector`."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.config.settings import Paths, Settings
from exporter.families import device_families
from exporter.families.desc import SampleBlock
from exporter.linux import topology
from exporter.metrics import device_collector, filesystem_collector
from exporter.monitor import Monitor
from exporter.programs.children import SystemChildren
from tests.fakes import FakeClock, FakeRunner
from tests.linux import trees
from tests.linux.trees import Sys, mount_line

Values = dict[tuple[str, ...], object]


def everything(name: str) -> bool:
    return bool(name)


def samples(sys: Sys, wanted: Callable[[str], bool] = everything) -> dict[str, Values]:
    """Return the values by family and labels; each series must occur once."""
    found = topology.read(sys.root, sys.root.parent / "proc", sys.root.parent).value
    families: dict[str, Values] = {}
    for sample in device_collector.samples(found, wanted, {}):
        family = families.setdefault(sample.desc.name, {})
        assert sample.labels not in family
        family[sample.labels] = sample.value
    return families


def test_the_page_follows_the_topology_and_the_settings(sys: Sys) -> None:
    """The samples are kept while neither changes."""
    trees.sata(sys)
    clock = FakeClock()
    place = sys.root.parent
    settings = Settings(path=Paths(place / "proc", sys.root, place))
    monitor = Monitor(settings, clock, FakeRunner({}), {}, children=lambda: SystemChildren(clock))

    def capacities() -> list[object]:
        blocks = [each for each in monitor.samples() if isinstance(each, SampleBlock)]
        capacity = device_families.DEVICE_CAPACITY
        return [value for each in blocks if each.desc is capacity for value in each.values]

    monitor.refresh_host()
    before = capacities()
    assert before == capacities()
    (sys.root / "block/sda/size").write_text("1000\n")
    monitor.refresh_host()
    assert [512_000] == capacities() != before
    monitor.reconfigure(replace(settings, disk=replace(settings.disk, device_exclude="sda")))
    assert [] == capacities()


def test_sata(sys: Sys) -> None:
    """All samples of a SATA drive with one misaligned partition."""
    sys.partition(f"{trees.sata(sys, speed='3.0 Gbps')}/sda1", start=34)
    info = (
        "sda",
        "",
        "Flashworks S500 Enterprise 480GB",
        "",
        "S00001",
        "SVT07B6Q",
        "naa.5002538f00000001",
        "sata",
        "ata",
        "0",
    )
    expected: dict[str, Values] = {
        "ssd_device_info": {info: 1},
        "ssd_device_queue_info": {("sda", "mq-deadline", "write back", "1", "1"): 1},
        "ssd_device_capacity_bytes": {("sda",): 960_197_124_096},
        "ssd_partition_misaligned": {("sda", "sda1"): 1},
        "ssd_device_state_ok": {("sda",): 1},
        "ssd_device_io_errors_total": {("sda",): 2},
        "ssd_device_io_timeouts_total": {("sda",): 0},
        "ssd_link_speed_bytes_per_second": {("sda",): 300e6},
        "ssd_link_speed_max_bytes_per_second": {("sda",): 600e6},
    }
    assert expected == samples(sys)


def test_unknown_is_no_sample(sys: Sys) -> None:
    """A virtio disk has no state, link or errors, and empty labels for unknown values."""
    trees.virtio(sys, serial="")
    found = samples(sys)
    assert {"ssd_device_info", "ssd_device_queue_info", "ssd_device_capacity_bytes"} == set(found)
    expected: Values = {("vda", "", "", "", "", "", "", "virtio", "", "0"): 1}
    assert expected == found["ssd_device_info"]


def test_nothing_readable(sys: Sys) -> None:
    """A disk without readable attributes has only its name, and no zeros."""
    sys.write("devices/virtual/block/loop0", {"dev": "7:0"})
    sys.link("block/loop0", "devices/virtual/block/loop0")
    expected: dict[str, Values] = {
        "ssd_device_info": {("loop0", *[""] * 9): 1},
        "ssd_device_queue_info": {("loop0", *[""] * 4): 1},
    }
    assert expected == samples(sys)


def test_scsi_model(sys: Sys) -> None:
    """The model of a SAS drive starts with the vendor, as printed by smartctl."""
    trees.sas(sys)
    ((labels, _),) = samples(sys)["ssd_device_info"].items()
    assert labels[2] == "FLASHWKS X700 1.6TB"


def test_controller_errors_once(sys: Sys) -> None:
    """The errors of a controller are exposed under its lowest namespace: 2 before 10."""
    trees.nvme(sys, 0, (10, 2))
    found = samples(sys)
    expected: Values = {
        ("nvme0n2", "correctable"): 7,
        ("nvme0n2", "nonfatal"): 2,
        ("nvme0n2", "fatal"): 0,
    }
    assert expected == found["ssd_pcie_errors_total"]
    assert len(found["ssd_device_state_ok"]) == 2


def test_multipath(sys: Sys) -> None:
    """A drive with two controllers is one drive: both are named, and their errors are added."""
    trees.nvme_multipath(sys, 4, (6, 5))
    found = samples(sys)
    ((labels, _),) = found["ssd_device_info"].items()
    assert ("nvme4n1", "nvme5,nvme6") == labels[:2]
    assert found["ssd_pcie_errors_total"]["nvme4n1", "correctable"] == 7 + 5 + 7 + 6


def test_md(sys: Sys) -> None:
    """An array exposes only its missing members."""
    trees.sata(sys)
    trees.md(sys, "md0", "sda", degraded=1)
    found = samples(sys)
    expected: Values = {("md0",): 1}
    assert expected == found["ssd_md_degraded_disks"]
    assert {("sda",)} == set(found["ssd_device_capacity_bytes"])


def test_unwanted_devices_have_no_samples(sys: Sys) -> None:
    """Only wanted drives and arrays on them are exposed."""
    trees.sata(sys)
    trees.sata_on_sas(sys)
    trees.sas(sys)
    trees.md(sys, "md0", "sda", "sdb")
    trees.md(sys, "md1", "sdc")
    found = samples(sys, lambda name: name == "sdb")
    assert {("sdb",)} == set(found["ssd_device_capacity_bytes"])
    assert {("md0",)} == set(found["ssd_md_degraded_disks"])


def test_this_machine() -> None:
    """The samples of this machine's drives fit their families."""
    found = topology.read(Path("/sys"), Path("/proc"), Path("/")).value
    for sample in device_collector.samples(found, everything, {}):
        assert len(sample.labels) == len(sample.desc.labels)


Series = dict[tuple[str, ...], object]


@pytest.fixture
def host(tmp_path: Path) -> Sys:
    """A host with a RAID 1 for MySQL data, a virtio disk for the rest, and two servers."""
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
    for sample in filesystem_collector.samples(found, wanted):
        family = families.setdefault(sample.desc.name, {})
        assert sample.labels not in family
        family[sample.labels] = sample.value
    return families


def test_mounts_and_roles(host: Sys) -> None:
    """There is one series per drive below a mount, and one per role of a drive."""
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


def test_several_servers_are_told_apart_by_their_port(host: Sys) -> None:
    proc = host.root.parent / "proc"
    (proc / "11/cmdline").write_bytes(b"mysqld\0--datadir=/data/two\0--port=3307\0")
    found = filesystem_values(host)
    assert {
        (device, "mysql-data", port): 1 for device in ("sda", "sdb") for port in ("3306", "3307")
    } == {
        labels: value
        for labels, value in found["ssd_device_role_server_info"].items()
        if labels[1] == "mysql-data"
    }
    names = ("mysql-data", "mysql-doublewrite", "mysql-redo", "mysql-undo")
    assert {(device, name) for device in ("sda", "sdb") for name in names} == set(
        found["ssd_device_role_info"]
    )


def test_a_single_server_has_no_port(host: Sys) -> None:
    shutil.rmtree(host.root.parent / "proc/11")
    assert "ssd_device_role_server_info" not in filesystem_values(host)


def test_the_state_of_every_mount_is_exposed(host: Sys) -> None:
    """The usage is exposed only for a filesystem with a role."""
    found = filesystem_values(host)
    labels = {("sda", "/data"), ("sdb", "/data")}
    readonly = {**dict.fromkeys(labels, 1), ("vda", "/"): 0}
    assert readonly == found["ssd_filesystem_readonly"]
    assert readonly == found["ssd_filesystem_failed"]
    assert dict.fromkeys(labels, 3) == found["ssd_filesystem_errors_total"]
    for family in ("ssd_filesystem_size_bytes", "ssd_filesystem_avail_bytes"):
        assert labels == found[family].keys()


def test_extra_mountpoint(host: Sys) -> None:
    """A filesystem with a probe directory is exposed, too."""
    found = filesystem_values(host, probe="/")
    assert found["ssd_filesystem_readonly"]["vda", "/"] == 0
    assert ("vda", "/") in found["ssd_filesystem_size_bytes"]
    assert ("vda", "/") not in found["ssd_filesystem_errors_total"]


def test_mounts_of_unwanted_devices_have_no_samples(host: Sys) -> None:
    """Unwanted drives are not exposed."""
    found = filesystem_values(host, lambda name: name == "sdb")
    assert {"sdb"} == {labels[0] for series in found.values() for labels in series}
