"""Lists with a limit: at the limit, one above, and far above, what is within the limit is kept.

Other limits have tests of their own: devices in `tests/io/test_device_limit.py`, poll documents in
`tests/smart/test_document_directory.py`, copies in `tests/runtime/test_kept_copy.py`, the state in
`tests/runtime/test_state.py`, baselines in `tests/io/test_baseline.py`, MySQL servers in
`tests/linux/mysql/test_mysqld_processes.py`, and waiting connections in `tests/web/test_lobby.py`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from exporter.drives.wear_counter import DAY, WearObservation
from exporter.io import last_roles
from exporter.io.drive_events import DriveEvents
from exporter.linux import cgroup, diskstats
from exporter.probe import slc_results
from exporter.smart import forgetting, smartctl
from exporter.smart.inventory import Inventory, KnownDrive
from exporter.wear import wear_tables
from exporter.wear.wear_database import WearDatabase
from exporter.wear.wear_history import WearHistory
from tests.io.machine import disk_line
from tests.io.records import NEW
from tests.test_injected_errors import SLC


@dataclass(frozen=True)
class Limit:
    """A list with a limit.

    most: the limit.
    kept: returns the numbers of the items that are kept of `count` items, which have the numbers
        from 0 on. It also returns whether the limit was reported; None if it never is.
    is_last: True if the last items are kept, False if the first ones are.
    """

    most: int
    kept: Callable[[Path, int], tuple[list[int], bool | None]]
    is_last: bool = False


def known_drive(number: int) -> dict[str, Any]:
    drive = KnownDrive(
        f"sd{number}", f"/dev/sd{number}", "sat", 1.0, 2.0, "M", f"S{number}", "F", None
    )
    # Of missing drives, the last seen come first.
    return replace(drive, missing=True, last_seen_unix_time=1e9 - number).to_state()


def inventory(_: Path, count: int) -> tuple[list[int], None]:
    found = Inventory([known_drive(number) for number in range(count)])
    return [int(str(drive.serial)[1:]) for drive in found.drives], None


def forget_requests(place: Path, count: int) -> tuple[list[int], None]:
    for number in range(count):
        forgetting.request(place, f"{number:05d}")
    return [int(name.removeprefix("forget-")) for name in forgetting.requests(place)], None


def scanned(_: Path, count: int) -> tuple[list[int], None]:
    devices = [{"name": f"/dev/sd{number}", "type": "sat"} for number in range(count)]
    text = json.dumps({"json_format_version": [1, 0], "devices": devices}).encode()
    return [int(row.address.path[7:]) for row in smartctl.parse_scan(text)], None


def roles(_: Path, count: int) -> tuple[list[int], None]:
    saved = [
        {
            "name": "mysql-data",
            "directory": f"/{n}",
            "mountpoint": "/",
            "cgroup": None,
            "seen_at": 1,
        }
        for n in range(count)
    ]
    return [int(role.directory[1:]) for role in last_roles.from_state(saved)], None


def events(_: Path, count: int) -> tuple[list[int], None]:
    """The drives whose last event is oldest are dropped."""
    kept = {f"{number}": [[10_000 + number, "missing", 1]] for number in range(count)}
    return sorted(map(int, DriveEvents(kept).to_state())), None


def events_of_a_drive(_: Path, count: int) -> tuple[list[int], None]:
    kept = {"a drive": [[10_000 + number, "missing", 1] for number in range(count)]}
    rows = DriveEvents(kept).to_state()["a drive"]
    return [day - 10_000 for day, _, _ in rows], None


def write_cache_results(place: Path, count: int) -> tuple[list[int], None]:
    for number in range(count):
        text = slc_results.serialize(replace(SLC, drives=(f"{number}",)))
        (place / f"slc-{number:05d}.json").write_text(text)
    return [int(result.drives[0]) for result in slc_results.read_all(place).value], None


def disk_lines(_: Path, count: int) -> tuple[list[int], bool]:
    text = "".join(disk_line(NEW._replace(device=f"vd{number}")) for number in range(count))
    parsed = diskstats.parse(text, {})
    return [int(disk.device[2:]) for disk in parsed.value.values()], bool(parsed.faults)


def io_stat_lines(_: Path, count: int) -> tuple[list[int], bool]:
    lines = (f"8:{number} rbytes=1 wbytes=1 rios=1 wios=1\n" for number in range(count))
    parsed = cgroup.parse_io_stat("".join(lines))
    return [int(device[2:]) for device in parsed.value], bool(parsed.faults)


def observation(number: int) -> WearObservation:
    return WearObservation((1000 + number) * DAY, None, 0.1, 0.01, number)


def rows_of_a_drive(place: Path, count: int) -> tuple[list[int], None]:
    database = WearDatabase(place / "history.sqlite")
    for begin in range(0, count, 500):
        numbers = range(begin, min(begin + 500, count))
        assert database.write({}, {"a drive": [observation(n) for n in numbers]}, {})
    rows = database.rows("a drive") or ()
    database.close()
    return [int(row.at / DAY) - 1000 for row in rows], None


def drives_with_rows(place: Path, count: int) -> tuple[list[int], None]:
    database = WearDatabase(place / "history.sqlite")
    rows = {f"{number}": [observation(number)] for number in range(count)}
    assert database.write({}, rows, {}, sweep=0.0)
    keys = database.keys() or ()
    database.close()
    return [int(key) for key in keys], None


def waiting_rows(place: Path, count: int) -> tuple[list[int], None]:
    """The file cannot be written: its directory does not exist."""
    history = WearHistory(WearDatabase(place / "none" / "history.sqlite"))
    for number in range(count):
        history.record(f"{number % 4000}", observation(number // 4000))
    return [4000 * (int(row.at / DAY) - 1000) + int(key) for key, row in history._rows], None


LIMITS = {
    "drives in the inventory": Limit(8192, inventory),
    "forget requests": Limit(1024, forget_requests),
    "rows of a scan": Limit(4096, scanned),
    "roles of MySQL servers": Limit(64, roles),
    "drives with events": Limit(256, events, is_last=True),
    "events of a drive": Limit(100, events_of_a_drive, is_last=True),
    "results of write cache probes": Limit(1024, write_cache_results),
    "lines of diskstats": Limit(16_384, disk_lines),
    "lines of io.stat": Limit(4096, io_stat_lines),
    "wear rows of a drive": Limit(wear_tables.ROWS_PER_DRIVE, rows_of_a_drive, is_last=True),
    "drives in the wear history": Limit(4096, drives_with_rows, is_last=True),
    "waiting rows of the wear history": Limit(20_000, waiting_rows, is_last=True),
}


@pytest.mark.parametrize("excess", ["at", "one above", "far above"])
@pytest.mark.parametrize("name", LIMITS)
def test_what_is_within_the_limit_is_kept(tmp_path: Path, name: str, excess: str) -> None:
    limit = LIMITS[name]
    count = {"at": limit.most, "one above": limit.most + 1, "far above": 2 * limit.most}[excess]
    kept, is_reported = limit.kept(tmp_path, count)
    first = count - limit.most if limit.is_last else 0
    assert list(range(first, first + limit.most)) == kept
    assert is_reported in (None, count > limit.most)
