"""Tests the preparation and removal of the file of a measurement."""

from pathlib import Path

import pytest

from exporter.measurement import guarded_run
from exporter.runtime.errors import ConfigError


def test_other_files_in_the_directory_are_kept(tmp_path: Path) -> None:
    place = tmp_path / "there"
    place.mkdir(0o700)
    (place / "others").touch()
    with guarded_run.remove_afterwards(place, "file"):
        guarded_run.prepare_length(place, "file", 4096)
    assert ["others"] == [each.name for each in place.iterdir()]


def test_an_unusable_directory_is_a_config_error(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(0o755)
    with pytest.raises(
        ConfigError, match=r"open to other users.*; name a directory that does not exist"
    ):
        guarded_run.prepare_length(tmp_path / "open", "file", 4096)
