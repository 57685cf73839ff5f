"""Queue settings, partitions and the names of disks in /sys/block."""

from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import block
from exporter.linux.block import Partition, QueueSettings
from tests.linux.trees import Sys


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[mq-deadline] kyber bfq none", "mq-deadline"),
        ("none [kyber]", "kyber"),
        ("[none] mq-deadline", "none"),
        ("none", "none"),
        ("", None),
        ("[]", None),
        ("none kyber", None),
        ("[none", None),
    ],
)
def test_scheduler(text: str, expected: str | None) -> None:
    """The active scheduler is the one in brackets, or the only one."""
    assert expected == block.parse_scheduler(text)


@given(st.text())
def test_any_scheduler(text: str) -> None:
    """No text yields an empty name."""
    assert block.parse_scheduler(text) != ""


def test_queue_of_a_usb_bridge(tmp_path: Path) -> None:
    """All settings are read; the bridge's wrong optimal size is not corrected."""
    disk = Sys(tmp_path).disk("devices/sdx", queue={"optimal_io_size": "33553920"})
    expected = QueueSettings("none", "write back", True, True, False, 1023, 512, 4096, 33553920)
    assert expected == block.read_queue(disk)


def test_unreadable_queue_is_unknown(tmp_path: Path) -> None:
    """Without a queue directory, or with malformed attributes, all settings are None and not 0."""
    assert set(astuple(block.read_queue(tmp_path))) == {None}
    names = ("fua", "rotational", "nr_requests", "discard_max_bytes")
    Sys(tmp_path).write("queue", dict.fromkeys(names, "\x00x y"))
    assert set(astuple(block.read_queue(tmp_path))) == {None}


@pytest.mark.parametrize(
    ("sector", "expected"),
    [(34, True), (63, True), (2048, False), (65535, True), (65536, False), (0, False)],
)
def test_start_sectors(sector: int, expected: bool) -> None:
    """A start must be a multiple of 4096 bytes or more: 34, 63 and 65535 are misaligned (TV-6)."""
    for physical in (512, 4096, None):
        assert expected == block.is_misaligned(sector * 512, physical, 0)


@pytest.mark.parametrize("optimal", ["33553920", "4096", "0"])
def test_optimal_io_size_is_ignored(tmp_path: Path, optimal: str) -> None:
    """For every optimal size, sector 65535 is misaligned and 2048 is aligned (TV-6)."""
    for name, start in (("sdd1", "65535"), ("sdd2", "2048")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "start").write_text(start)
    (tmp_path / "queue").mkdir()
    (tmp_path / "queue" / "optimal_io_size").write_text(optimal)
    assert block.read_partition(tmp_path, "sdd1", 4096).misaligned is True
    assert block.read_partition(tmp_path, "sdd2", 4096).misaligned is False


def test_large_blocks_and_offsets() -> None:
    """With blocks of 16 KiB a start must be a multiple of 16 KiB; any offset is misaligned."""
    assert block.is_misaligned(4096, 16384, 0)
    assert not block.is_misaligned(16384, 16384, None)
    assert block.is_misaligned(1 << 20, 4096, 512)


def test_unreadable_partition_has_only_a_name(tmp_path: Path) -> None:
    """A partition that has disappeared has its name; everything else is None."""
    expected = Partition("sda1", None, None, None, None)
    assert expected == block.read_partition(tmp_path, "sda1", 4096)


@pytest.mark.parametrize(
    ("disk", "partition"),
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
def test_partition_belongs_to_disk(disk: str, partition: str) -> None:
    """The kernel's naming rule yields the disk, also if its name ends with p."""
    disks = {disk, "sdb", "nvme0n10", "nvme0n1", "xvd"}
    assert {disk: [partition]} == block.partitions_by_disk([partition, disk, "sdb"], disks)


def test_disks_are_not_partitions() -> None:
    """nvme0n11 is a disk, and md12 is not a partition of md1."""
    names = ["nvme0n1", "nvme0n11", "md1", "md12"]
    assert {} == block.partitions_by_disk(names, set(names))


@given(st.lists(st.text()), st.sets(st.text()))
def test_any_names(names: list[str], disks: set[str]) -> None:
    """Any names are assigned only to disks that exist."""
    found = block.partitions_by_disk(names, disks)
    assert found.keys() <= disks
