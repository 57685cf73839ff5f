"""Filesystems: which errors stop writes, error counts of ext4 and btrfs, states of ZFS pools."""

import fcntl
import lzma
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.linux import filesystems, topology
from exporter.linux.filesystems import Filesystem
from tests.fuzz import examples
from tests.linux import trees
from tests.linux.trees import Sys, mount_line
from tests.mounts import unmount
from tests.required import lacking

#: An empty XFS of 16 MB, made with mkfs.xfs 6.1 in its test mode (QA_CHECK_FS).
_XFS = Path(__file__).parent / "data" / "empty.xfs.xz"

#: The ioctl XFS_IOC_GOINGDOWN, which ext4 has too, and its flag "without a flush of the log".
_GOING_DOWN, _NO_LOG_FLUSH = 0x8004587D, struct.pack("I", 2)


def read(sys: Sys, *lines: str, pid: str = "1") -> list[Filesystem]:
    host = sys.root.parent
    place = host / "proc" / pid
    place.mkdir(parents=True)
    (place / "mountinfo").write_text("".join(lines))
    return list(topology.read(sys.root, host / "proc", host).value.filesystems)


@pytest.mark.parametrize(
    ("fstype", "options", "super_options", "expected"),
    [
        ("ext4", "rw", "rw,errors=remount-ro", (False, False)),
        ("ext4", "rw", "ro,errors=remount-ro", (True, True)),
        ("ext4", "rw", "rw,errors=remount-ro,emergency_ro", (True, True)),
        ("ext4", "rw", "rw,shutdown", (True, True)),
        ("btrfs", "rw", "ro,subvol=/", (True, True)),
        # By an administrator: mount -o ro, or mount -o remount,ro.
        ("ext4", "ro", "ro", (True, False)),
        ("ext4", "ro", "rw", (True, False)),
    ],
)
def test_an_error_that_stops_writes_differs_from_a_readonly_mount(
    sys: Sys, fstype: str, options: str, super_options: str, expected: tuple[bool, bool]
) -> None:
    trees.sata(sys)
    line = mount_line(sys.number("sda"), "/", fstype, options=options, super_options=super_options)
    assert [expected] == [(each.readonly, each.failed) for each in read(sys, line)]


def test_in_the_sandbox_of_the_exporter_a_readonly_filesystem_may_be_intended(sys: Sys) -> None:
    """ProtectSystem= of systemd makes every mount read-only there."""
    trees.virtio(sys)
    line = mount_line(sys.number("vda"), "/", options="ro", super_options="ro")
    assert [None] == [each.failed for each in read(sys, line, pid="self")]


@pytest.mark.parametrize(
    ("mountpoint", "fstype", "expected"),
    [
        ("/", "ext4", True),
        ("/boot/efi", "vfat", True),
        ("/mnt/backup", "xfs", True),
        ("/media/cd", "iso9660", False),
        ("/snap/core/1", "squashfs", False),
        ("/var/lib/docker/devicemapper/mnt/0f", "ext4", False),
        ("/var/lib/kubelet/pods/1/volumes/csi/mount", "ext4", False),
    ],
)
def test_mounts_of_containers_and_images_are_not_watched(
    sys: Sys, mountpoint: str, fstype: str, expected: bool
) -> None:
    trees.virtio(sys)
    line = mount_line(sys.number("vda"), mountpoint, fstype)
    assert [expected] == [each.is_watched for each in read(sys, line)]


def test_the_mount_of_a_database_is_watched_wherever_it_is(sys: Sys) -> None:
    trees.virtio(sys)
    line = mount_line(sys.number("vda"), "/var/lib/kubelet/pods/1/volumes/csi/mount")
    inside = mount_line(sys.number("vda"), "/var/lib/mysql")
    trees.process(sys.root.parent / "proc", 77, ["mysqld"], inside)
    assert [True] == [each.is_watched for each in read(sys, line)]


def test_a_mounted_filesystem_whose_drive_has_disappeared_has_failed(sys: Sys) -> None:
    """The kernel keeps the mount; a filesystem that was unmounted before is gone."""
    trees.sata(sys)
    trees.virtio(sys)
    host = sys.root.parent
    root, data = mount_line(sys.number("vda"), "/"), mount_line(sys.number("sda"), "/data")
    before = read(sys, root, data)
    assert [("/", False), ("/data", False)] == [(each.mountpoint, each.failed) for each in before]
    known = topology.read(sys.root, host / "proc", host).value
    (sys.root / "block/sda").unlink()
    found = topology.read(sys.root, host / "proc", host, known).value
    found = topology.read(sys.root, host / "proc", host, found).value
    assert [("/", False, ("vda",)), ("/data", True, ("sda",))] == [
        (each.mountpoint, each.failed, each.devices) for each in found.filesystems
    ]
    (host / "proc/1/mountinfo").write_text(root)
    after = topology.read(sys.root, host / "proc", host, found).value
    assert ["/"] == [each.mountpoint for each in after.filesystems]


def test_errors_of_btrfs_are_summed_over_its_devices(sys: Sys) -> None:
    trees.sata(sys)
    trees.virtio(sys)
    stats = "write_errs 1\nread_errs 2\nflush_errs 0\ncorruption_errs 4\ngeneration_errs 0"
    for number, name in enumerate(("sda", "vda"), start=1):
        sys.write(f"fs/btrfs/u-1/devinfo/{number}", {"error_stats": stats})
        sys.write(f"fs/btrfs/u-1/devices/{name}", {})
    line = mount_line("0:45", "/", "btrfs", "/dev/sda", super_options="rw,subvol=/")
    assert [14] == [each.errors for each in read(sys, line)]


def test_error_stats_without_numbers_are_unknown() -> None:
    assert filesystems.parse_error_stats("invalid\n") is None


@pytest.mark.parametrize("damaged", ["read_errs 2x", "read_errs", "read_errs 1,000", "read_errs -"])
def test_a_damaged_number_of_the_error_stats_makes_the_sum_unknown(damaged: str) -> None:
    assert filesystems.parse_error_stats(f"write_errs 1\n{damaged}\nflush_errs 0\n") is None


@given(st.text())
@settings(max_examples=examples(200))
def test_any_error_stats(text: str) -> None:
    found = filesystems.parse_error_stats(text)
    assert found is None or found >= 0


def test_states_of_zfs_pools(tmp_path: Path) -> None:
    kstat = tmp_path / "spl" / "kstat" / "zfs"
    for pool, state in (("tank", "SUSPENDED\n"), ("odd", "x y\n")):
        (kstat / pool).mkdir(parents=True)
        (kstat / pool / "state").write_text(state)
    (kstat / "arcstats").write_text("1 2 3\n")
    assert {"tank": "SUSPENDED"} == filesystems.read_pool_states(tmp_path)
    assert {} == filesystems.read_pool_states(tmp_path / "absent")


@pytest.mark.real
def test_a_real_ext4_that_stops_writing(tmp_path: Path) -> None:
    """Since Linux 6.12 an error sets emergency_ro; earlier kernels set ro."""
    image = tmp_path / "image"
    image.write_bytes(bytes(16 << 20))
    _run("mkfs.ext4", "-q", str(image))
    with _mounted(image, "ext4", "errors=remount-ro") as (device, mountpoint):
        assert (False, False, 0) == _state(mountpoint)
        _run("mount", "-o", "remount,ro", str(mountpoint))
        assert (True, False, 0) == _state(mountpoint)
        _run("mount", "-o", "remount,rw", str(mountpoint))
        trigger = Path("/sys/fs/ext4", device.name, "trigger_fs_error")
        if not trigger.exists():
            lacking("ext4 without trigger_fs_error")
        trigger.write_text("1")
        assert (True, True, 1) == _state(mountpoint)


@pytest.mark.real
def test_a_real_xfs_that_shuts_down(tmp_path: Path) -> None:
    """No option of the mount changes; stat of the mountpoint returns EIO."""
    image = tmp_path / "image"
    image.write_bytes(lzma.decompress(_XFS.read_bytes()))
    with _mounted(image, "xfs", "noatime") as (_, mountpoint):
        assert (False, False, None) == _state(mountpoint)
        descriptor = os.open(mountpoint, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, _GOING_DOWN, _NO_LOG_FLUSH)
        finally:
            os.close(descriptor)
        assert (True, True, None) == _state(mountpoint)


@contextmanager
def _mounted(image: Path, fstype: str, options: str) -> Iterator[tuple[Path, Path]]:
    """Mounts a filesystem image; yields the loop device and the mountpoint."""
    if os.geteuid() != 0:
        lacking("root is required to mount a filesystem")
    if fstype not in Path("/proc/filesystems").read_text().split():
        lacking(f"the kernel has no {fstype}")
    device = Path(_run("losetup", "--find", "--show", str(image)).strip())
    mountpoint = image.parent / "mnt"
    mountpoint.mkdir()
    try:
        _run("mount", "-t", fstype, "-o", options, str(device), str(mountpoint))
        try:
            yield device, mountpoint
        finally:
            unmount(mountpoint)
    finally:
        _run("losetup", "--detach", str(device))


def _state(mountpoint: Path) -> tuple[bool, bool | None, int | None]:
    found = topology.read(Path("/sys"), Path("/proc"), Path("/")).value.filesystems
    (here,) = [each for each in found if each.mountpoint == str(mountpoint)]
    return here.readonly, here.failed, here.errors


def _run(*argv: str) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        lacking(f"not installed: {argv[0]}")
    if done.returncode:
        lacking(f"{argv[0]} fails: {done.stderr.strip()}")
    return done.stdout
