"""Merging wear histories that were set aside, beside a running daemon and as root."""

import contextlib
import io
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from exporter.commands import merge_wear
from exporter.drives.wear_counter import DAY, WearObservation
from exporter.runtime.errors import ConfigError
from exporter.runtime.kept_copy import set_aside
from exporter.wear.wear_database import HISTORY_FILE
from exporter.wear.wear_history import WearHistory


def day(number: int) -> WearObservation:
    return WearObservation(number * DAY, number * DAY, 0.1, 0.01, number * 10**10)


def written(path: Path, *days: int, keys: tuple[str, ...] = ("a", "b")) -> Path:
    history = WearHistory.open(path)
    for number in days:
        for key in keys:
            history.record(key, day(number))
    history.close()
    return path


def found(path: Path, key: str = "a") -> list[int]:
    history = WearHistory.open(path, read_only=True)
    days = [int(seen.at / DAY) for seen in history.observations(key)]
    history.close()
    return days


def merged(directory: Path, *chosen: Path) -> list[str]:
    """Returns the printed lines."""
    out = io.StringIO()
    assert 0 == merge_wear.run(directory, chosen, out)
    return out.getvalue().splitlines()


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / HISTORY_FILE


def test_the_rows_of_all_kept_copies_are_merged(history: Path) -> None:
    set_aside(written(history, 1, 2, 3))
    set_aside(written(history, 4, 5, keys=("a", "c")))
    written(history, 6)
    assert [
        f"history.sqlite.kept-1: merged 6 rows of 2 drives into {history}",
        f"history.sqlite.kept-2: merged 4 rows of 2 drives into {history}",
        "The files were not changed. Delete those that are not needed any more.",
    ] == merged(history.parent)
    expected = [[1, 2, 3, 4, 5, 6], [1, 2, 3, 6], [4, 5]]
    assert expected == [found(history, key) for key in "abc"]
    merged(history.parent)
    assert expected == [found(history, key) for key in "abc"], "nothing changes the second time"


def test_a_chosen_file_is_merged(history: Path, tmp_path: Path) -> None:
    saved = written(tmp_path / "from a backup.sqlite", 1, 2)
    written(history, 6)
    merged(history.parent, saved)
    assert [1, 2, 6] == found(history)


def test_a_running_daemon_sees_the_merged_rows_and_adds_its_own(history: Path) -> None:
    set_aside(written(history, 1, 2))
    daemon = WearHistory.open(history)
    daemon.record("a", day(8))
    daemon.flush()
    merged(history.parent)
    assert [1, 2, 8] == [seen.at / DAY for seen in daemon.observations("a")]
    daemon.record("a", day(9))
    daemon.close()
    assert [1, 2, 8, 9] == found(history)


def test_without_a_history_the_merged_one_is_created(history: Path) -> None:
    set_aside(written(history, 1, 2))
    merged(history.parent)
    assert [1, 2] == found(history)


def test_a_damaged_copy_is_an_error_and_changes_nothing(
    history: Path, caplog: pytest.LogCaptureFixture
) -> None:
    set_aside(written(history, 1, 2))
    history.write_bytes(b"damaged" * 100)
    damaged = set_aside(history)
    written(history, 6)
    with pytest.raises(ConfigError, match=r"history\.sqlite\.kept-2 cannot be used"):
        merged(history.parent)
    assert f"{damaged} cannot be used: file is not a database" in caplog.text
    assert [6] == found(history)
    merged(history.parent, history.with_name("history.sqlite.kept-1"))
    assert [1, 2, 6] == found(history)


def test_a_history_that_cannot_be_used_is_not_set_aside_by_the_command(history: Path) -> None:
    set_aside(written(history, 1, 2))
    history.write_bytes(b"damaged" * 100)
    before = sorted(os.listdir(history.parent))
    with pytest.raises(ConfigError, match="cannot be used"):
        merged(history.parent)
    assert before == sorted(os.listdir(history.parent))


def test_a_history_that_another_process_locks_is_an_error(history: Path) -> None:
    set_aside(written(history, 1, 2))
    written(history, 6)
    with contextlib.closing(sqlite3.connect(history, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ConfigError, match="cannot be used"):
            merged(history.parent)
        other.execute("ROLLBACK")
    assert [6] == found(history)


def test_without_a_copy_there_is_nothing_to_merge(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no wear history was set aside"):
        merged(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_merges_with_the_rights_of_the_owner_and_follows_no_link(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Not below tmp_path, which other users cannot enter.
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    directory = place / "state"
    directory.mkdir()
    history = directory / HISTORY_FILE
    kept = set_aside(written(history, 1, 2))
    for each in (directory, kept):
        os.chown(each, 65534, 65534)
    merged(directory)
    assert (65534, 0o600) == (history.stat().st_uid, history.stat().st_mode & 0o777)
    assert [1, 2] == found(history)
    secret = written(tmp_path / "of root.sqlite", 7)
    (directory / "history.sqlite.kept-2").symlink_to(secret)
    with pytest.raises(ConfigError, match="cannot be used"):
        merged(directory)
    assert "it is a symbolic link" in caplog.text
    shutil.rmtree(place)
