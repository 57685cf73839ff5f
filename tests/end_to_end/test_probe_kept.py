"""A daemon with a damaged or later wear history or budget file renames it and logs this."""

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.duration import wait_until
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.made_up import MadeUpDrives
from tests.end_to_end.test_probe import PROFILES, flags, settings
from tests.end_to_end.waiting import await_page, up

__all__ = ["flags"]

pytestmark = pytest.mark.real

DRIVES = 2


@pytest.mark.parametrize("content", [b"rubbish" * 1000, b"", b"SQLite format 3\0" + bytes(4080)])
def test_a_wear_history_that_is_not_a_database_is_renamed_and_replaced(
    tmp_path: Path, content: bytes
) -> None:
    drives = MadeUpDrives(tmp_path / "drives", DRIVES)
    state = tmp_path / "daemon" / "state"
    state.mkdir(parents=True)
    history = state / "history.sqlite"
    history.write_bytes(content)

    def is_replaced() -> bool:
        with suppress(FileNotFoundError):  # The old file is renamed before the new one is created.
            return history.read_bytes() not in {content, b""}
        return False

    with Daemon(tmp_path / "daemon", *drives.flags, config=drives.config()) as daemon:
        await_page(daemon, lambda page: sum(up(page).values()) == DRIVES)
        # The daemon opens the history 15 s after its start.
        wait_until(is_replaced, "a new history")
        assert 0 == daemon.stop()
    kept = list(state.glob("history.sqlite.kept-*"))
    if content:
        (aside,) = kept
        assert content == aside.read_bytes()
        (complaint,) = daemon.complaints
        assert f"; renamed to {aside.name}, a new file is started" in complaint
        assert f"{history} is not usable: " in complaint
    else:
        assert ([], []) == (kept, daemon.complaints), "an empty file holds nothing to keep"
    with closing(sqlite3.connect(history)) as connection:
        assert [("ok",)] == connection.execute("PRAGMA integrity_check").fetchall()


def test_a_budget_of_a_later_version_permits_only_reads_today(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    directory, place = tmp_path / "probe", tmp_path / "daemon"
    (place / "state").mkdir(parents=True)
    budget = place / "state" / "probe-budget.json"
    budget.write_text('{"version": 2, "spent": "in another way"}')
    with Daemon(place, *flags, config=settings(directory)) as daemon:
        page = await_page(
            daemon,
            lambda page: any(
                value for _, value in page.find("ssd_probe_skipped_total", reason="budget")
            ),
        )
        assert 0 == daemon.stop()
    skipped = page.find("ssd_probe_skipped_total", reason="budget")
    assert set(PROFILES) >= {labels["profile"] for labels, value in skipped if value}
    assert 0 == sum(
        value for _, value in page.find("ssd_probe_write_budget_remaining_bytes", period="day")
    )
    (complaint,) = daemon.complaints
    (aside,) = budget.parent.glob("probe-budget.json.kept-*")
    assert f"; kept as {aside.name}; today's budget counts as spent" in complaint
    assert '{"version": 2, "spent": "in another way"}' == aside.read_text()
    assert 1 == json.loads(budget.read_text())["version"]
