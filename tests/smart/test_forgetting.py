"""Tests of the requests to a running daemon to forget a missing drive."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.health import DriveIdentity
from exporter.smart import forgetting
from exporter.smart.inventory import Inventory, Sighting
from exporter.smart.smartctl import Address


def inventory_of(*serials: str) -> Inventory:
    """Drives of which all but the first are missing."""
    inventory = Inventory()
    drives = [
        Sighting(Address(f"/dev/sd{n}", "sat"), f"sd{n}", DriveIdentity(serial=serial))
        for n, serial in enumerate(serials)
    ]
    inventory.update(drives, 1000.0, complete=True)
    inventory.update(drives[:1], 2000.0, complete=True)
    return inventory


def serials(inventory: Inventory) -> list[str | None]:
    return [drive.serial for drive in inventory.drives]


def test_a_missing_drive_is_forgotten_on_request(tmp_path: Path) -> None:
    inventory = inventory_of("S1", "S2", "S3")
    forgetting.request(tmp_path, "S2")
    asked = forgetting.requests(tmp_path)
    assert 1 == forgetting.fulfil(inventory, asked)
    assert ["S1", "S3"] == serials(inventory)
    forgetting.remove(tmp_path, asked)
    assert [] == os.listdir(tmp_path)


def test_without_requests_nothing_is_forgotten(tmp_path: Path) -> None:
    inventory = inventory_of("S1", "S2")
    assert 0 == forgetting.fulfil(inventory, forgetting.requests(tmp_path))
    assert ["S1", "S2"] == serials(inventory)


def test_a_present_drive_is_not_forgotten_and_this_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    inventory = inventory_of("S1")
    forgetting.request(tmp_path, "S1")
    assert 0 == forgetting.fulfil(inventory, forgetting.requests(tmp_path))
    assert ["S1"] == serials(inventory)
    assert "sd0 (S1) is not forgotten: it is present" in caplog.text


def test_a_request_outlives_a_daemon_that_is_killed_before_it_saved(tmp_path: Path) -> None:
    """A request that was saved but not removed has no further effect."""
    forgetting.request(tmp_path, "S2")
    forgetting.fulfil(inventory_of("S1", "S2"), forgetting.requests(tmp_path))
    again = inventory_of("S1", "S2")
    assert 1 == forgetting.fulfil(again, forgetting.requests(tmp_path))
    assert 0 == forgetting.fulfil(again, forgetting.requests(tmp_path))


def test_several_requests_are_all_there(tmp_path: Path) -> None:
    for name in ("S2", "S3", "S2"):
        forgetting.request(tmp_path, name)
    assert 2 == len(forgetting.requests(tmp_path))
    assert 2 == forgetting.fulfil(inventory_of("S1", "S2", "S3"), forgetting.requests(tmp_path))


def test_a_request_is_an_empty_private_file(tmp_path: Path) -> None:
    forgetting.request(tmp_path, "bus/6:megaraid,3")
    assert ["forget-bus%2F6%3Amegaraid%2C3"] == os.listdir(tmp_path)
    found = (tmp_path / "forget-bus%2F6%3Amegaraid%2C3").stat()
    assert (0, 0o600) == (found.st_size, found.st_mode & 0o777)


@pytest.mark.parametrize("target", ["elsewhere", "file"])
def test_a_prepared_link_is_not_followed(tmp_path: Path, target: str) -> None:
    """Root may ask in the directory of an ordinary user's daemon."""
    forgetting.request(tmp_path, "S2")
    (name,) = forgetting.requests(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / "file").write_text("somebody else's")
    (tmp_path / name).symlink_to(tmp_path / target)
    with pytest.raises(OSError, match="symbolic link"):
        forgetting.request(tmp_path, "S2")
    assert not (tmp_path / "elsewhere").exists()


def test_a_prepared_pipe_does_not_block(tmp_path: Path) -> None:
    forgetting.request(tmp_path, "S2")
    (name,) = forgetting.requests(tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(OSError, match="it is a pipe"):
        forgetting.request(tmp_path, "S2")


def test_other_files_are_not_requests(tmp_path: Path) -> None:
    for name in ("state.json", "forget-", "forget-a b", "forget-" + "a" * 241):
        (tmp_path / name).touch()
    assert () == forgetting.requests(tmp_path)
    assert () == forgetting.requests(tmp_path / "gone")


def test_a_directory_that_is_gone_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        forgetting.request(tmp_path / "gone", "S1")


def test_a_request_that_cannot_be_removed_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "forget-S1").mkdir()
    forgetting.remove(tmp_path, [*forgetting.requests(tmp_path), "forget-S2"])
    assert "cannot be removed" in caplog.text


@given(st.text(st.characters(), min_size=1))
def test_any_name_makes_a_file_of_ours(name: str) -> None:
    """Also halves of surrogate pairs, which JSON can hold."""
    for asked in (name, f"\ud800{name}\udcff"):
        with tempfile.TemporaryDirectory() as directory:
            forgetting.request(Path(directory), asked)
            assert 1 == len(forgetting.requests(Path(directory)))


_ASKER = """
import itertools, sys
from pathlib import Path
from exporter.smart import forgetting

for number in itertools.count():
    forgetting.request(Path(sys.argv[1]), f"S{number}")
    print(number, flush=True)
"""


def test_kill_9_during_a_request_leaves_only_complete_requests(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _ASKER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as asker:
        assert asker.stdout is not None
        first = asker.stdout.readline()
        time.sleep(0.02)
        asker.send_signal(signal.SIGKILL)
        said = len([first, *asker.stdout])
    assert len(os.listdir(tmp_path)) in (said, said + 1)
    assert len(os.listdir(tmp_path)) == len(forgetting.requests(tmp_path)) or said > 1024
