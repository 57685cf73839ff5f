"""The topology of a host: first reading, repeated reading, roles, and filesystems."""

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter.linux import filesystems, topology
from exporter.linux.filesystems import Filesystem, FilesystemUsage
from exporter.linux.topology import StorageRole, Topology
from exporter.runtime.errors import ParseError
from tests.duration import at_most, wait_until
from tests.fuzz import examples
from tests.linux import trees
from tests.linux.trees import Sys, mount_line


def read(sys: Sys, known: Topology | None = None, directories: tuple[str, ...] = ()) -> Topology:
    host = sys.root.parent
    return topology.read(sys.root, host / "proc", host, known, {"probe": directories}).value


def mounts(sys: Sys, *lines: str, pid: str = "1") -> None:
    place = sys.root.parent / "proc" / pid
    place.mkdir(parents=True)
    (place / "mountinfo").write_text("".join(lines))


def every_kind(sys: Sys) -> None:
    sys.partition(f"{trees.nvme(sys, 0, (1, 2))[0]}/nvme0n1p1")
    trees.nvme_multipath(sys, 4, (6, 5))
    sys.partition(f"{trees.sata(sys)}/sda1", start=34)
    trees.sata_on_sas(sys)
    trees.sas(sys)
    trees.usb(sys)
    trees.virtio(sys)
    trees.mmc(sys)
    trees.cciss(sys)
    trees.md(sys, "md0", "sda1", "sdb")
    trees.dm(sys, "dm-0", "vg-mysql", "md0", "nvme0n1p1")


def test_every_kind(sys: Sys) -> None:
    """A host with a device of each kind: all disks by the kernel's names, and which are leaves."""
    every_kind(sys)
    found = read(sys)
    leaves = {name for name, each in found.devices.items() if each.block.is_leaf}
    expected = {"cciss/c0d0", "mmcblk0", "nvme0n1", "nvme0n2", "nvme4n1", "vda"}
    assert expected | {"sda", "sdb", "sdc", "sdd"} == leaves
    assert {
        "dm-0",
        "md0",
        "mmcblk0boot0",
        "nvme4c5n1",
        "nvme4c6n1",
    } == found.devices.keys() - leaves
    assert ("sda", "sdb", "nvme0n1") == found.leaves_of("dm-0")
    first = {"nvme0": "nvme0n1", "nvme5": "nvme4n1", "nvme6": "nvme4n1"}
    assert first == found.first_namespaces


def test_repeated_reading_is_equal(sys: Sys) -> None:
    """A reading with a known topology equals one without."""
    every_kind(sys)
    known = read(sys)
    assert known == read(sys, known)
    assert read(sys) == read(sys, known)


def test_repeated_reading_keeps_the_identity(sys: Sys) -> None:
    """For the same disk only the state and the settings are read again, not the identity."""
    every_kind(sys)
    known = read(sys)
    sys.write("block/sda/device", {"model": "never read", "state": "offline", "ioerr_cnt": "0x10"})
    sys.write("block/sda/queue", {"scheduler": "mq-deadline [kyber]", "nr_requests": "64"})
    sys.write("class/nvme/nvme0", {"serial": "never read", "state": "resetting"})
    found = read(sys, known)
    for name in ("sda", "nvme0n1"):
        assert known.devices[name].identity is found.devices[name].identity
        assert found.devices[name].state.ok is False
    assert found.devices["sda"].state.io_errors == 16
    queue = found.devices["sda"].block.queue
    assert ("kyber", 64) == (queue.scheduler, queue.requests)


@pytest.mark.parametrize(("attribute", "value"), [("diskseq", "900"), ("dev", "8:240")])
def test_new_disk_with_the_same_name_is_read_fully(sys: Sys, attribute: str, value: str) -> None:
    """A new device number or diskseq means a new disk."""
    place = trees.sata(sys)
    known = read(sys)
    sys.write(place, {attribute: value, "device/rev": "NEW1"})
    (sys.root / place / "device/vpd_pg89").unlink()
    assert read(sys, known).devices["sda"].identity.firmware == "NEW1"


def test_new_disk_without_diskseq_is_detected(sys: Sys) -> None:
    """Before Linux 5.15 only the new inode of the link shows that sda is another drive."""
    place = trees.sata(sys)
    (sys.root / place / "diskseq").unlink()
    known = read(sys)
    # The new links are created before the old ones are removed, so that no inode is reused.
    for link in ("block/sda", "class/block/sda"):
        (sys.root / f"{link}.new").symlink_to(os.readlink(sys.root / link))
        (sys.root / f"{link}.new").replace(sys.root / link)
    page = trees.identify("Another", "S2", "F")
    sys.write(place, {"device/vpd_pg89": page})
    assert read(sys, known).devices["sda"].identity.model == "Another"


def test_larger_capacity_is_read(sys: Sys) -> None:
    """Cloud volumes grow while they are in use."""
    place = trees.virtio(sys)
    known = read(sys)
    sys.write(place, {"size": "4096"})
    assert read(sys, known).devices["vda"].block.capacity_bytes == 4096 * 512


def test_new_partition_and_new_member(sys: Sys) -> None:
    """Partitions and members that are added later are detected, though the disk is the same."""
    sda = trees.sata(sys)
    trees.sata(sys, "sdb", 2)
    trees.md(sys, "md0", "sda")
    known = read(sys)
    sys.partition(f"{sda}/sda1")
    sys.slaves("md0", "sdb")
    found = read(sys, known)
    assert ["sda1"] == [each.name for each in found.devices["sda"].block.partitions]
    assert ("sda", "sdb") == found.leaves_of("md0")


def test_new_path(sys: Sys) -> None:
    """A new path of an NVMe head adds a controller."""
    trees.nvme_multipath(sys, 0, (1,))
    known = read(sys)
    controller = trees.nvme_controller(sys, 2, "DP000001")
    sys.disk(f"{controller}/nvme0c2n1", hidden=True)
    sys.link(f"{controller}/nvme0c2n1/device", controller)
    assert ("nvme1", "nvme2") == read(sys, known).devices["nvme0n1"].identity.controllers


def test_unplugged(sys: Sys) -> None:
    """A removed disk is omitted, also if its directory disappears before its link."""
    place = trees.sata(sys)
    trees.virtio(sys)
    known = read(sys)
    shutil.rmtree(sys.root / place)
    assert {"vda"} == read(sys, known).devices.keys()
    sys.remove("sda")
    assert {"vda"} == read(sys, known).devices.keys()


def test_empty_host(tmp_path: Path) -> None:
    """Without /sys the topology is empty, with a fault: every host has a disk."""
    parsed = topology.read(tmp_path / "sys", tmp_path / "proc", tmp_path)
    assert ({}, ()) == (parsed.value.devices, parsed.value.filesystems)
    assert ["no block device; check --path.sysfs"] == [
        str(fault).partition("/block: ")[2] for fault in parsed.faults
    ]


def test_roles(sys: Sys) -> None:
    """A server's directories lead to drives, and to the host's mountpoints."""
    every_kind(sys)
    dm, root = sys.number("dm-0"), sys.number("nvme0n2")
    lines = mount_line(root, "/"), mount_line(dm, "/var/lib/mysql", "xfs")
    mounts(sys, *lines)
    argv = ["/usr/sbin/mysqld", "--log-bin=/binlog/b"]
    trees.process(sys.root.parent / "proc", 77, argv, "".join(lines))
    found = read(sys)
    drives = ("sda", "sdb", "nvme0n1")
    assert (
        StorageRole("mysql-data", 77, "/var/lib/mysql", "/var/lib/mysql", drives) == found.roles[0]
    )
    assert StorageRole("mysql-binlog", 77, "/binlog", "/", ("nvme0n2",)) == found.roles[-1]
    assert ("/system.slice/mysql.service",) == tuple(each.cgroup for each in found.servers)


def test_role_in_a_container(sys: Sys) -> None:
    """A container's volume is found among the host's filesystems; the mountpoints differ."""
    trees.virtio(sys)
    number = sys.number("vda")
    mounts(sys, mount_line(number, "/srv"), mount_line("0:60", "/", "overlay", "overlay"))
    volume = mount_line(number, "/var/lib/mysql", root="/volumes/db")
    inside = mount_line("0:61", "/", "overlay", "overlay") + volume
    trees.process(sys.root.parent / "proc", 77, ["mysqld"], inside)
    found = read(sys)
    assert StorageRole("mysql-data", 77, "/var/lib/mysql", "/srv", ("vda",)) == found.roles[0]


def test_role_without_device(sys: Sys) -> None:
    """A data directory in a container's overlay has no drives."""
    trees.virtio(sys)
    mounts(sys, mount_line(sys.number("vda"), "/"))
    inside = mount_line("0:61", "/", "overlay", "overlay")
    trees.process(sys.root.parent / "proc", 77, ["mysqld"], inside)
    assert StorageRole("mysql-data", 77, "/var/lib/mysql", None, ()) == read(sys).roles[0]


def test_role_on_a_bind(sys: Sys) -> None:
    """If only a bind mount of the filesystem is visible, as in a container, it is reported."""
    trees.virtio(sys)
    line = mount_line(sys.number("vda"), "/var/lib/mysql", root="/volumes/db")
    overlay = mount_line("0:61", "/", "overlay", "overlay")
    mounts(sys, overlay, line)
    trees.process(sys.root.parent / "proc", 77, ["mysqld"], overlay + line)
    (found,) = read(sys).filesystems
    assert ("/var/lib/mysql", ("vda",)) == (found.mountpoint, found.devices)


def test_filesystems(sys: Sys) -> None:
    """Filesystems on devices are listed once, without bind, tmpfs and hidden mounts."""
    every_kind(sys)
    sda, vda = sys.number("sda1"), sys.number("vda")
    btrfs = {"fstype": "btrfs", "source": "/dev/sdc"}
    mounts(
        sys,
        mount_line(sda, "/"),
        mount_line(sda, "/bind", root="/srv"),
        mount_line(sda, "/again"),
        mount_line("0:30", "/tmp", "tmpfs", "tmpfs"),
        mount_line(sda, "/over"),
        mount_line(vda, "/over"),
        mount_line("0:45", "/home", root="/@home", super_options="rw,subvol=/@home", **btrfs),
        mount_line("0:45", "/opt", root="/@opt", super_options="rw,subvol=/@opt", **btrfs),
        mount_line("0:45", "/opt2", root="/@opt/x", super_options="rw,subvol=/@opt", **btrfs),
    )
    expected = [("/", ("sda",)), ("/over", ("vda",)), ("/home", ("sdc",)), ("/opt", ("sdc",))]
    assert expected == [(each.mountpoint, each.devices) for each in read(sys).filesystems]


def test_usage_and_errors_only_for_roles(sys: Sys) -> None:
    """Usage and errors are read only for filesystems that contain a directory with a role."""
    trees.virtio(sys)
    trees.virtio(sys, "vdb")
    vda, vdb = sys.number("vda"), sys.number("vdb")
    mounts(sys, mount_line(vda, "/"), mount_line(vdb, "/data"))
    (sys.root.parent / "data").mkdir()
    (sys.root.parent / "probe").symlink_to("/data/probe")
    sys.write("fs/ext4/vdb", {"errors_count": "3"})
    root, data = read(sys, directories=("/probe",)).filesystems
    assert Filesystem("/", "ext4", vda, ("vda",), readonly=False) == root
    assert data.usage is not None
    expected = Filesystem("/data", "ext4", vdb, ("vdb",), readonly=False, errors=3)
    assert replace(expected, usage=data.usage) == data


@pytest.mark.parametrize(
    ("pid", "options", "super_options", "expected"),
    [
        ("1", "rw", "ro,errors=remount-ro", True),
        ("1", "ro", "rw", True),
        ("1", "rw", "rw", False),
        ("self", "ro", "ro", True),
        ("self", "ro", "rw", False),
    ],
)
def test_readonly(sys: Sys, pid: str, options: str, super_options: str, expected: bool) -> None:
    """A read-only filesystem or host mount counts; a mount of the exporter's sandbox does not."""
    trees.virtio(sys)
    line = mount_line(sys.number("vda"), "/", options=options, super_options=super_options)
    mounts(sys, line, pid=pid)
    assert [expected] == [each.readonly for each in read(sys).filesystems]


def test_at_most_256_filesystems(sys: Sys) -> None:
    """Of thousands of filesystems 256 are listed, and those with a role."""
    trees.sata(sys)
    lines = []
    for number in range(1, 400):
        sys.count += 1
        lines.append(mount_line("0:45", f"/m{number}", "btrfs", "/dev/sda", root=f"/s{number}"))
        lines[-1] = lines[-1].replace(" rw\n", f" rw,subvol=/s{number}\n")
    mounts(sys, *lines)
    found = [each.mountpoint for each in read(sys, directories=("/m399/x",)).filesystems]
    assert [f"/m{number}" for number in [*range(1, 257), 399]] == found


def test_broken_mountinfo(sys: Sys) -> None:
    """A malformed line of mountinfo is a fault; devices and other mounts remain."""
    trees.virtio(sys)
    mounts(sys, "garbage\n", mount_line(sys.number("vda"), "/"))
    host = sys.root.parent
    parsed = topology.read(sys.root, host / "proc", host)
    assert (1, 1, 1) == (
        len(parsed.faults),
        len(parsed.value.devices),
        len(parsed.value.filesystems),
    )


def test_unreadable_mountinfo(sys: Sys) -> None:
    """If no mounts can be read, the devices remain, and a fault gives the reason."""
    trees.virtio(sys)
    host = sys.root.parent
    for pid in ("1", "self"):
        (host / "proc" / pid / "mountinfo").mkdir(parents=True)
    parsed = topology.read(sys.root, host / "proc", host)
    assert (["vda"], ()) == ([*parsed.value.devices], parsed.value.filesystems)
    assert ["the mounts are unknown" in str(fault) for fault in parsed.faults] == [True]


def test_link_loops(sys: Sys) -> None:
    """Cycles of links, anywhere in the tree, are not followed endlessly."""
    trees.md(sys, "md0")
    trees.md(sys, "md1", "md0")
    sys.slaves("md0", "md1", "md0")
    place = sys.root / trees.nvme(sys)[0]
    for link in (place / "device", sys.root / "block/loop", sys.root / "class/block/loop"):
        link.unlink(missing_ok=True)
        link.symlink_to(link)
    found = read(sys)
    assert found.leaves_of("md0") == ()
    assert {"md0", "md1", "nvme0n1"} == found.devices.keys()


def test_names_of_any_character(sys: Sys) -> None:
    """Names with quotes, spaces and line ends stay unchanged, from disk to mountpoint."""
    disk, mountpoint = "sd \"a\"\n'b'", '/my "data"\n\tset'
    sys.disk(f"devices/pci0000:00/host0/block/{disk}")
    mounts(sys, mount_line(sys.number(disk), mountpoint))
    found = read(sys, directories=(mountpoint,))
    assert [(mountpoint, (disk,))] == [(f.mountpoint, f.devices) for f in found.filesystems]


def _files(root: Path) -> list[Path]:
    return sorted(
        Path(directory, name)
        for directory, _, names in os.walk(root)
        for name in names
        if not Path(directory, name).is_symlink()
    )


GARBAGE = st.binary(max_size=40) | st.sampled_from(
    [b"", b"\0", b"-1\n", b"9" * 40, b"nan", b"0x", b"\xff\xfe", b"[", b"1:1:1", b"1e400"]
)


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data())
def test_any_tree(data: st.DataObject) -> None:
    """Any content of /sys and /proc yields a topology, in first and repeated readings."""
    with tempfile.TemporaryDirectory() as directory:
        sys = Sys(Path(directory) / "sys")
        every_kind(sys)
        line = mount_line(sys.number("dm-0"), "/")
        mounts(sys, line)
        proc = Path(directory) / "proc"
        trees.process(proc, 77, ["mysqld"], line)
        known = read(sys)
        files = _files(Path(directory))
        for file in data.draw(st.lists(st.sampled_from(files), max_size=60, unique=True)):
            file.write_bytes(data.draw(GARBAGE))
        for before in (None, known):
            parsed = topology.read(sys.root, proc, Path(directory), before)
            assert all(isinstance(fault, ParseError) for fault in parsed.faults)
            assert parsed.value.leaves_of("dm-0") is not None


@pytest.mark.slow
def test_two_thousand_disks(sys: Sys) -> None:
    """A host with 2,000 disks is read again in far less than the 30 s between surveys."""
    for number in range(2000):
        trees.virtio(sys, f"vd{number}x")
    known = read(sys)
    with at_most(5):
        again = read(sys, known)
    assert len(again.devices) == 2000
    assert all(again.devices[name].block is each.block for name, each in known.devices.items())


def test_this_machine() -> None:
    """The running kernel's trees are read without a fault, and / is on known drives."""
    parsed = topology.read(Path("/sys"), Path("/proc"), Path("/"))

    def is_constant() -> bool:
        nonlocal parsed
        names = os.listdir("/sys/block")
        parsed = topology.read(Path("/sys"), Path("/proc"), Path("/"), configured={"os": ("/",)})
        again = topology.read(Path("/sys"), Path("/proc"), Path("/"), parsed.value).value
        is_same = again.devices.keys() == parsed.value.devices.keys()
        return is_same and names == os.listdir("/sys/block")

    wait_until(is_constant)  # while no other test creates or removes a device
    assert parsed.faults == ()
    found = parsed.value
    assert set(os.listdir("/sys/block")) >= {n.replace("/", "!") for n in found.devices}
    for device in found.devices.values():
        assert device.block.directory.is_dir()
        assert device.block.capacity_bytes is not None
    for filesystem in found.filesystems:
        assert set(filesystem.devices) <= found.devices.keys()


def test_queue_settings_are_read_again_on_request(sys: Sys) -> None:
    trees.virtio(sys, "vda")
    scheduler = sys.root / "block" / "vda" / "queue" / "scheduler"
    scheduler.write_text("none [mq-deadline]\n")
    known = read(sys)
    scheduler.write_text("[none] mq-deadline\n")
    kept = topology.read(sys.root, sys.root / "proc", sys.root, known, read_queues=False).value
    assert kept.devices["vda"].block.queue.scheduler == "mq-deadline"
    assert read(sys, kept).devices["vda"].block.queue.scheduler == "none"


def test_usage(tmp_path: Path) -> None:
    """Size and available space are those of statvfs(3), below the given root."""
    found = os.statvfs(tmp_path)
    usage = filesystems.read_usage(tmp_path.parent, f"/{tmp_path.name}")
    assert usage is not None
    assert found.f_blocks * found.f_frsize == usage.size_bytes
    assert 0 <= usage.avail_bytes <= usage.size_bytes
    assert isinstance(filesystems.read_usage(Path("/"), "/"), FilesystemUsage)


@pytest.mark.parametrize("mountpoint", ["/gone", "/a\0b", "/" + "x" * 300])
def test_usage_of_absent_mountpoint_is_unknown(tmp_path: Path, mountpoint: str) -> None:
    """The usage of an absent or invalid mountpoint is None."""
    assert filesystems.read_usage(tmp_path, mountpoint) is None


@pytest.mark.parametrize(
    ("text", "expected"), [("0", 0), ("17", 17), ("", None), ("many", None), ("0x1", None)]
)
def test_error_count(tmp_path: Path, text: str, expected: int | None) -> None:
    """The count is that of the partition; a malformed number is unknown."""
    Sys(tmp_path).write("fs/ext4/cciss!c0d0p1", {"errors_count": text})
    assert expected == filesystems.read_error_count(tmp_path, "cciss/c0d0p1")
    assert filesystems.read_error_count(tmp_path, "sda1") is None
