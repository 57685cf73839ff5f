"""Tests the change of owner of a new directory."""

import os
from pathlib import Path

import pytest

from exporter.measurement import ownership
from tests.required import lacking


@pytest.fixture
def parent(tmp_path: Path) -> int:
    if os.geteuid() != 0:
        lacking("it takes root to give something away")
    return os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)


def test_the_owner_of_a_directory_that_replaced_the_new_one_does_not_change(
    tmp_path: Path, parent: int
) -> None:
    (tmp_path / "new").mkdir(0o700)
    ownership.give(parent, "new", (65534, 65534))
    assert 65534 == (tmp_path / "new").stat().st_uid
    (tmp_path / "full").mkdir(0o700)
    (tmp_path / "full/file").touch()
    (tmp_path / "open").mkdir(0o755)
    (tmp_path / "link").symlink_to("open")
    for name in ("full", "open", "link"):
        with pytest.raises(OSError, match=r"."):
            ownership.give(parent, name, (65534, 65534))
        assert 0 == (tmp_path / name).stat().st_uid
    os.close(parent)
