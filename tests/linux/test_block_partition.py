"""Partitions: where they start, and whose they are."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import block
from exporter.linux.block import Partition


@pytest.mark.parametrize(
    ("sector", "expected"),
    [(34, True), (63, True), (2048, False), (65535, True), (65536, False), (0, False)],
)
def test_start_sectors(sector: int, expected: bool) -> None:
    """A start counts against 4096 bytes at least, so that 34, 63 and 65535 are bad (TV-6)."""
    for physical in (512, 4096, None):
        assert expected == block.is_misaligned(sector * 512, physical, 0)


@pytest.mark.parametrize("optimal", ["33553920", "4096", "0"])
def test_optimal_io_size_is_no_unit(tmp_path: Path, optimal: str) -> None:
    """Whatever a bridge claims as optimal, sector 65535 is bad and 2048 good (TV-6)."""
    for name, start in (("sdd1", "65535"), ("sdd2", "2048")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "start").write_text(start)
    (tmp_path / "queue").mkdir()
    (tmp_path / "queue" / "optimal_io_size").write_text(optimal)
    assert block.read_partition(tmp_path, "sdd1", 4096).misaligned is True
    assert block.read_partition(tmp_path, "sdd2", 4096).misaligned is False


def test_large_blocks_and_offsets() -> None:
    """A drive of 16 KiB blocks needs starts of 16 KiB, and any alignment offset is bad."""
    assert block.is_misaligned(4096, 16384, 0)
    assert not block.is_misaligned(16384, 16384, None)
    assert block.is_misaligned(1 << 20, 4096, 512)


def test_unreadable(tmp_path: Path) -> None:
    """A partition that vanished has its name, and nothing else is known."""
    expected = Partition("sda1", None, None, None, None)
    assert expected == block.read_partition(tmp_path, "sda1", 4096)


@pytest.mark.parametrize(
    ("disk", "its_partition"),
    [
        ("sda", "sda1"),
        ("sda", "sda15"),
        ("nvme0n1", "nvme0n1p2"),
        ("cciss!c0d0", "cciss!c0d0p1"),
        ("mmcblk0", "mmcblk0p1"),
        ("md127", "md127p1"),
        ("xvdp", "xvdp1"),
    ],
)
def test_owner(disk: str, its_partition: str) -> None:
    """The kernel's rule of names finds the disk of a partition, also where a p ends the name."""
    disks = {disk, "sdb", "nvme0n10", "nvme0n1", "xvd"}
    assert {disk: [its_partition]} == block.partitions_by_disk([its_partition, disk, "sdb"], disks)


def test_disks_are_no_partitions() -> None:
    """nvme0n11 is a disk of its own, and md12 no partition of md1."""
    names = ["nvme0n1", "nvme0n11", "md1", "md12"]
    assert {} == block.partitions_by_disk(names, set(names))


@given(st.lists(st.text()), st.sets(st.text()))
def test_any_names(names: list[str], disks: set[str]) -> None:
    """Any names are sorted to disks that exist."""
    found = block.partitions_by_disk(names, disks)
    assert found.keys() <= disks
