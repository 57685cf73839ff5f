"""Tests the preparation and removal of the file of a measurement."""

from pathlib import Path

from exporter.measurement import guarded_run


def test_other_files_in_the_directory_are_kept(tmp_path: Path) -> None:
    place = tmp_path / "there"
    place.mkdir(0o700)
    (place / "others").touch()
    with guarded_run.remove_afterwards(place, "file"):
        guarded_run.prepare_length(place, "file", 4096)
    assert ["others"] == [each.name for each in place.iterdir()]
