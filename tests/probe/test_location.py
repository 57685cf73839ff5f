"""Tests the location of a probe's directory and which filesystems are suitable."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import topology
from exporter.linux.topology import Topology
from exporter.probe import location
from exporter.probe.location import unsuitable_reason
from exporter.runtime.errors import ReadError
from tests.end_to_end.host import Host


@pytest.fixture
def host(tmp_path: Path) -> Host:
    made = Host(tmp_path / "host")
    made.disk("sda", 0)
    made.disk("cciss/c0d0", 1)
    return made


def seen(host: Host) -> Topology:
    return topology.read(host.sys.root, host.proc, Path("/nonexistent")).value


def mounted(host: Host, *lines: str) -> None:
    host.write("self/mountinfo", "".join(f"{line}\n" for line in lines))


ROOT = "1 0 259:0 / / rw - ext4 /dev/sda rw"


def test_the_mount_with_the_longest_path_is_used(host: Host, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    mounted(host, ROOT, f"2 1 259:1 / {data} rw - xfs /dev/cciss/c0d0 rw")
    place = location.locate(data / "probe", seen(host), host.proc)
    assert ("cciss/c0d0", ("cciss/c0d0",)) == (place.device, place.leaves)
    assert ("xfs", str(data), False) == (place.fstype, place.mountpoint, place.readonly)
    assert "" == place.unsuitable(copy_on_write=False)
    assert "sda" == location.locate(tmp_path, seen(host), host.proc).device


def test_links_in_the_path_are_resolved(host: Host, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (tmp_path / "link").symlink_to(data)
    mounted(host, ROOT, f"2 1 259:1 / {data} rw - xfs /dev/cciss/c0d0 rw")
    assert "cciss/c0d0" == location.locate(tmp_path / "link/probe", seen(host), host.proc).device


@pytest.mark.parametrize("line", [ROOT.replace("rw -", "ro -"), ROOT.removesuffix("rw") + "ro"])
def test_a_read_only_mount_is_unsuitable(host: Host, tmp_path: Path, line: str) -> None:
    mounted(host, line)
    place = location.locate(tmp_path, seen(host), host.proc)
    assert "/ is mounted read-only" == place.unsuitable(copy_on_write=False)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1 0 0:33 / / rw - tmpfs tmpfs rw", "is in memory"),
        ("1 0 0:33 / / rw - overlay overlay rw", "is stacked on other filesystems"),
        ("1 0 0:33 / / rw - nfs4 server:/ rw", "on the network"),
        ("1 0 0:33 / / rw - ext4 /dev/sdz rw", "is not a known block device"),
        ("", "no mount contains it"),
    ],
)
def test_the_error_names_why_there_is_no_drive(
    host: Host, tmp_path: Path, line: str, words: str
) -> None:
    mounted(host, *filter(None, [line]))
    with pytest.raises(ReadError, match=words):
        location.locate(tmp_path, seen(host), host.proc)


def test_without_a_mount_table_the_location_is_an_error(host: Host, tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="cannot find the filesystem"):
        location.locate(tmp_path, seen(host), host.proc)


@given(text=st.text())
def test_any_mount_table_gives_a_location_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    place = tmp_path_factory.mktemp("host")
    host = Host(place / "host")
    host.disk("sda", 0)
    host.write("self/mountinfo", text.replace("\ud800", ""))
    with contextlib.suppress(ReadError):
        location.locate(place, seen(host), host.proc)


def test_the_free_space_of_a_real_filesystem(tmp_path: Path) -> None:
    space = location.free_space(tmp_path / "not there yet")
    assert 0 < space.avail_bytes <= space.size_bytes
    with pytest.raises(ReadError):
        location.free_space(Path("/nonexistent/at/all"))


@pytest.mark.parametrize(
    ("action", "expected"),
    [("resync", True), ("check", True), ("recover", True), ("idle", False), ("frozen", False)],
)
def test_a_rebuild_of_an_array_below_is_detected(
    host: Host, tmp_path: Path, action: str, expected: bool
) -> None:
    md = "devices/virtual/block/md0"
    host.sys.write(md, {"dev": "9:0", "size": "2048", "md/sync_action": action})
    host.sys.link(f"{md}/slaves/sda", "devices/virtual/block/sda")
    host.sys.link("block/md0", md)
    host.sys.link("class/block/md0", md)
    mounted(host, ROOT)
    place = location.locate(tmp_path, seen(host), host.proc)
    assert expected is location.is_rebuilding(place, seen(host))


@pytest.mark.parametrize("fstype", ["ext4", "xfs", "ext3", "f2fs"])
def test_filesystems_that_write_in_place_are_suitable(fstype: str) -> None:
    assert "" == unsuitable_reason(fstype, copy_on_write=False)


@pytest.mark.parametrize("fstype", ["btrfs", "zfs", "bcachefs"])
def test_copy_on_write_needs_the_setting(fstype: str) -> None:
    assert "set probe.copy_on_write" in unsuitable_reason(fstype, copy_on_write=False)
    assert "" == unsuitable_reason(fstype, copy_on_write=True)


@pytest.mark.parametrize(
    ("fstype", "word"),
    [
        ("tmpfs", "in memory"),
        ("ramfs", "in memory"),
        ("overlay", "name a directory on one of those"),
        ("nfs4", "network"),
        ("cifs", "network"),
        ("9p", "network"),
        ("fuse.sshfs", "by a program"),
        ("fuseblk", "by a program"),
        ("fuse", "by a program"),
        ("newfs", "unknown type"),
        ("", "the filesystem"),
    ],
)
def test_other_filesystems_are_always_refused(fstype: str, word: str) -> None:
    assert word in unsuitable_reason(fstype, copy_on_write=True)
