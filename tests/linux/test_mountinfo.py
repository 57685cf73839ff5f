"""/proc/<pid>/mountinfo."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import mountinfo
from exporter.linux.mountinfo import Mount, Mounts
from exporter.runtime.errors import NotAvailable, ParseError
from tests.linux.trees import mount_line

ROOT = Mount("259:2", "/", "/", ("rw", "relatime"), "ext4", "/dev/nvme0n1p2", ("rw",))


def mount(mountpoint: str, number: str = "8:1", **changes: str) -> Mount:
    parsed = mountinfo.parse(mount_line(number, mountpoint, **changes))
    assert parsed.faults == ()
    return parsed.value[0]


def test_line() -> None:
    """A line with two optional fields, as proc_pid_mountinfo(5) describes it."""
    text = (
        "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 propagate_from:2 - ext3 /dev/root "
        "rw,errors=continue\n"
    )
    expected = Mount(
        number="98:0",
        root="/mnt1",
        mountpoint="/mnt2",
        options=("rw", "noatime"),
        fstype="ext3",
        source="/dev/root",
        super_options=("rw", "errors=continue"),
    )
    assert ((expected,), ()) == (mountinfo.parse(text).value, mountinfo.parse(text).faults)


def test_no_optional_fields_and_no_source() -> None:
    """Optional fields may be missing, and a source may be empty."""
    parsed = mountinfo.parse("22 27 0:21 / /proc rw - proc  rw\n")
    assert [("", "proc")] == [(m.source, m.fstype) for m in parsed.value]


def test_escapes() -> None:
    """Space, tab, newline and backslash are unescaped; no other character splits a line."""
    name = '/srv/a b\tc\nd\\e "f"\r\x0b\x85\u2028g'
    parsed = mountinfo.parse(mount_line("8:1", name) + mount_line("8:2", "/x"))
    assert [name, "/x"] == [m.mountpoint for m in parsed.value]
    assert parsed.faults == ()


@pytest.mark.parametrize(
    "line",
    [
        "36 35 8:1 / /mnt",
        "36 35 8:1 / /mnt rw shared:1 ext4 /dev/sda1 rw",
        "36 35 8:1 / /mnt rw - ext4",
        "36 35 8 / /mnt rw - ext4 /dev/sda1 rw",
        "36 35 8:1 / mnt rw - ext4 /dev/sda1 rw",
        "garbage",
        "\0\0\0",
    ],
)
def test_malformed_line_affects_only_itself(line: str) -> None:
    """The fault has the number of the line."""
    parsed = mountinfo.parse(mount_line("8:1", "/a") + line + "\n" + mount_line("8:2", "/b"))
    assert ["/a", "/b"] == [m.mountpoint for m in parsed.value]
    assert len(parsed.faults) == 1
    assert str(parsed.faults[0]).startswith("mountinfo:2: ")


@given(st.text() | st.from_regex(r"(\d+ ){2}\d:\d (/\S* ){2}rw - \S+ \S+ \S+", fullmatch=True))
def test_any_text(text: str) -> None:
    """Any text yields mounts and faults, never an exception."""
    parsed = mountinfo.parse(text)
    assert all(isinstance(fault, ParseError) for fault in parsed.faults)
    assert len(parsed.value) + len(parsed.faults) <= text.count("\n") + 1


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_any_mountpoint(name: str) -> None:
    """Any name of a mountpoint is returned unchanged."""
    assert [f"/{name}"] == [
        m.mountpoint for m in mountinfo.parse(mount_line("8:1", f"/{name}")).value
    ]


def test_readonly() -> None:
    """A read-only filesystem and a read-only mount are distinguished."""
    remounted = mount("/a", super_options="ro,errors=remount-ro")
    bound = mount("/b", options="ro,relatime")
    assert (True, False) == (remounted.filesystem_readonly, remounted.mount_readonly)
    assert (False, True) == (bound.filesystem_readonly, bound.mount_readonly)


def test_binds() -> None:
    """A mount with a root other than / is a bind mount, unless it is a btrfs subvolume."""
    assert not mount("/a").is_bind
    assert mount("/a", root="/srv").is_bind
    subvolume = {"fstype": "btrfs", "root": "/@home"}
    assert not mount("/a", super_options="rw,subvolid=257,subvol=/@home", **subvolume).is_bind
    assert mount("/a", super_options="rw,subvolid=257,subvol=/@", **subvolume).is_bind


def test_containing() -> None:
    """The longest mountpoint above a directory contains it, and the last of equal ones."""
    mounts = [mount("/"), mount("/var"), mount("/var/lib/mysql", "8:2"), mount("/var/lib/my")]
    again = mount("/var", "8:9")
    assert mounts[2] == mountinfo.mount_containing(mounts, "/var/lib/mysql/db")
    assert mounts[2] == mountinfo.mount_containing(mounts, "/var/lib/mysql")
    assert mounts[1] == mountinfo.mount_containing(mounts, "/var/lib/mysql-files")
    assert mounts[0] == mountinfo.mount_containing(mounts, "/varnish")
    assert again == mountinfo.mount_containing([*mounts, again], "/var/log")
    assert mountinfo.mount_containing([], "/") is None


def test_mounts_of_host_or_reader(tmp_path: Path) -> None:
    """The mounts are those of process 1, or else the reader's own, which are marked."""
    with pytest.raises(NotAvailable):
        mountinfo.read(tmp_path)
    line = mount_line("259:2", "/", source="/dev/nvme0n1p2")
    for pid, of_host in (("self", False), ("1", True)):
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "mountinfo").write_text(line)
        assert Mounts((ROOT,), of_host) == mountinfo.read(tmp_path).value


def test_this_machine() -> None:
    """Every line of the running kernel's file is valid."""
    parsed = mountinfo.read(Path("/proc"))
    assert parsed.faults == ()
    assert mountinfo.mount_containing(parsed.value.mounts, "/proc/self") is not None
