"""``ssd-exporter forget``: requests for the daemon, and refusals."""

import io
from pathlib import Path

import pytest

from exporter.commands import forget
from exporter.drives.health import DriveIdentity
from exporter.runtime.errors import ConfigError
from exporter.smart import forgetting
from exporter.smart.inventory import Inventory, Sighting
from exporter.smart.smartctl import Address

GONE = DriveIdentity(model="Flashworks S500", serial="S-GONE")
THERE = DriveIdentity(model="Flashworks S500", serial="S-THERE")


def kept() -> object:
    """What a daemon has kept that saw two drives, and then one."""
    inventory = Inventory()
    there = Sighting(Address("/dev/sda", "sat"), "sda", THERE)
    gone = Sighting(Address("/dev/sdb", "sat"), "sdb", GONE)
    inventory.update([there, gone], 1000.0, complete=True)
    inventory.update([there], 2000.0, complete=True)
    return inventory.to_state()


def test_a_request_is_written_for_a_missing_drive(tmp_path: Path) -> None:
    out = io.StringIO()
    assert forget.run("S-GONE", tmp_path, kept(), out) == 0
    assert "the daemon will forget sdb (Flashworks S500, S-GONE)" in out.getvalue()
    inventory = Inventory(kept())
    assert forgetting.fulfil(inventory, forgetting.requests(tmp_path)) == 1
    assert () == inventory.missing


def test_a_present_drive_is_not_forgotten(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not missing; remove the drive first"):
        forget.run("S-THERE", tmp_path, kept(), io.StringIO())
    assert () == forgetting.requests(tmp_path)


def test_of_two_drives_with_one_name_the_missing_one_is_forgotten(tmp_path: Path) -> None:
    wwn = "naa.5002538f00000001"
    twins = [DriveIdentity(model="Flashworks S500", serial=s, wwn=wwn) for s in ("S1", "S2")]
    sightings = [
        Sighting(Address(f"/dev/sd{n}", "sat"), f"sd{n}", t)
        for n, t in zip("ab", twins, strict=True)
    ]
    inventory = Inventory()
    inventory.update(sightings, 1000.0, complete=True)
    inventory.update(sightings[:1], 2000.0, complete=True)
    out = io.StringIO()
    assert forget.run(wwn, tmp_path, inventory.to_state(), out) == 0
    assert "the daemon will forget sdb (Flashworks S500, S2)" in out.getvalue()
    assert "sda" not in out.getvalue()
    assert forgetting.fulfil(inventory, forgetting.requests(tmp_path)) == 1
    assert ["S1"] == [drive.serial for drive in inventory.drives]


def test_an_unknown_drive_is_an_error_that_lists_the_missing_ones(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="no drive named 'S-X' is known on this host; missing drives: S-GONE"
    ):
        forget.run("S-X", tmp_path, kept(), io.StringIO())


def test_an_unreadable_state_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state.json").mkdir()
    with pytest.raises(ConfigError, match=r"state\.json cannot be read: .*; run this command"):
        forget.run("S-GONE", tmp_path, None, io.StringIO())


def test_an_unwritable_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not writable"):
        forget.run("S-GONE", tmp_path / "none", kept(), io.StringIO())
