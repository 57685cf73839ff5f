"""How full filesystems are, and ext4's own count of errors."""

import os
from pathlib import Path

import pytest

from exporter.linux import topology
from exporter.linux.topology import FilesystemUsage
from tests.linux.trees import Sys


def test_usage(tmp_path: Path) -> None:
    """The size and what an ordinary user may fill are those of statvfs, below the root given."""
    found = os.statvfs(tmp_path)
    usage = topology.read_usage(tmp_path.parent, f"/{tmp_path.name}")
    assert usage is not None
    assert found.f_blocks * found.f_frsize == usage.size_bytes
    assert 0 <= usage.avail_bytes <= usage.size_bytes
    assert isinstance(topology.read_usage(Path("/"), "/"), FilesystemUsage)


@pytest.mark.parametrize("mountpoint", ["/gone", "/a\0b", "/" + "x" * 300])
def test_no_usage(tmp_path: Path, mountpoint: str) -> None:
    """A mountpoint that is gone or no path has no usage."""
    assert topology.read_usage(tmp_path, mountpoint) is None


@pytest.mark.parametrize(
    ("text", "expected"), [("0", 0), ("17", 17), ("", None), ("many", None), ("0x1", None)]
)
def test_errors(tmp_path: Path, text: str, expected: int | None) -> None:
    """The count is that of the partition; what is no number is not known."""
    Sys(tmp_path).write("fs/ext4/cciss!c0d0p1", {"errors_count": text})
    assert expected == topology.read_error_count(tmp_path, "cciss/c0d0p1")
    assert topology.read_error_count(tmp_path, "sda1") is None
