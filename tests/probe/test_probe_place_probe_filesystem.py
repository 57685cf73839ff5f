"""On which filesystems a probe may run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probe.location import Kind, kind, unfit


@pytest.mark.parametrize("fstype", ["ext4", "xfs", "ext3", "f2fs"])
def test_what_writes_in_place_may_be_probed(fstype: str) -> None:
    assert Kind.IN_PLACE == kind(fstype)
    assert "" == unfit(fstype, copy_on_write=False)


@pytest.mark.parametrize("fstype", ["btrfs", "zfs", "bcachefs"])
def test_copy_on_write_takes_consent(fstype: str) -> None:
    assert "consent" in unfit(fstype, copy_on_write=False)
    assert "" == unfit(fstype, copy_on_write=True)


@pytest.mark.parametrize(
    ("fstype", "expected", "word"),
    [
        ("tmpfs", Kind.MEMORY, "in memory"),
        ("ramfs", Kind.MEMORY, "in memory"),
        ("overlay", Kind.STACKED, "below it"),
        ("nfs4", Kind.NETWORK, "network"),
        ("cifs", Kind.NETWORK, "network"),
        ("9p", Kind.NETWORK, "network"),
        ("fuse.sshfs", Kind.FUSE, "by a program"),
        ("fuseblk", Kind.FUSE, "by a program"),
        ("fuse", Kind.FUSE, "by a program"),
        ("newfs", Kind.UNKNOWN, "not known"),
        ("", Kind.UNKNOWN, "the filesystem"),
    ],
)
def test_the_others_are_refused_whatever_was_consented(
    fstype: str, expected: Kind, word: str
) -> None:
    assert expected == kind(fstype)
    assert word in unfit(fstype, copy_on_write=True)


@given(st.text())
def test_any_type_is_of_some_kind(fstype: str) -> None:
    assert (kind(fstype) is Kind.IN_PLACE) == (unfit(fstype, copy_on_write=False) == "")
