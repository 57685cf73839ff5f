"""On which filesystems a probe may run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probe.location import FilesystemKind, filesystem_kind, unsuitable_reason


@pytest.mark.parametrize("fstype", ["ext4", "xfs", "ext3", "f2fs"])
def test_what_writes_in_place_may_be_probed(fstype: str) -> None:
    assert FilesystemKind.IN_PLACE == filesystem_kind(fstype)
    assert "" == unsuitable_reason(fstype, copy_on_write=False)


@pytest.mark.parametrize("fstype", ["btrfs", "zfs", "bcachefs"])
def test_copy_on_write_takes_consent(fstype: str) -> None:
    assert "consent" in unsuitable_reason(fstype, copy_on_write=False)
    assert "" == unsuitable_reason(fstype, copy_on_write=True)


@pytest.mark.parametrize(
    ("fstype", "expected", "word"),
    [
        ("tmpfs", FilesystemKind.MEMORY, "in memory"),
        ("ramfs", FilesystemKind.MEMORY, "in memory"),
        ("overlay", FilesystemKind.STACKED, "below it"),
        ("nfs4", FilesystemKind.NETWORK, "network"),
        ("cifs", FilesystemKind.NETWORK, "network"),
        ("9p", FilesystemKind.NETWORK, "network"),
        ("fuse.sshfs", FilesystemKind.FUSE, "by a program"),
        ("fuseblk", FilesystemKind.FUSE, "by a program"),
        ("fuse", FilesystemKind.FUSE, "by a program"),
        ("newfs", FilesystemKind.UNKNOWN, "not known"),
        ("", FilesystemKind.UNKNOWN, "the filesystem"),
    ],
)
def test_the_others_are_refused_whatever_was_consented(
    fstype: str, expected: FilesystemKind, word: str
) -> None:
    assert expected == filesystem_kind(fstype)
    assert word in unsuitable_reason(fstype, copy_on_write=True)


@given(st.text())
def test_any_type_is_of_some_kind(fstype: str) -> None:
    assert (filesystem_kind(fstype) is FilesystemKind.IN_PLACE) == (
        unsuitable_reason(fstype, copy_on_write=False) == ""
    )
