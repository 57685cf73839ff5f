"""``ssd-exporter steady-state``: real fio on small files, and the daemon's saved rounds."""

import json
import re
import signal
from pathlib import Path

import pytest

from exporter.config.profiles import PROFILES
from exporter.runtime.state import StateFile
from tests.commands.measured import GATE, Place, end, pretending
from tests.commands.test_steady_state_command_saved_rounds import kept

pytestmark = pytest.mark.real

#: A round takes a second of page_write, and a quarter of a second of fsync. It ends by its number.
QUICK = """
[probe.profile.page_write]
size_bytes = 4194304
number_ios = 25
rate_iops = 25
runtime_seconds = 90
[probe.profile.fsync]
size_bytes = 4194304
number_ios = 25
runtime_seconds = 90
"""

#: A round takes a minute.
SLOW = """
[probe.profile.page_write]
size_bytes = 8388608
number_ios = 512
rate_iops = 5
runtime_seconds = 60
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, QUICK + GATE)


def where(place: Place) -> str:
    return f"--directory={place.directory}"


def test_rounds_run_until_steady_or_the_maximum(place: Place) -> None:
    page = place.path / "page.html"
    ended = place.run(
        "steady-state", where(place), "--rounds=6", "--json", f"--html={page}", "--yes"
    )
    data = json.loads(ended.out)["data"]
    (found,) = data["series"]
    # A busy host may cause most of the latency of a round. Such a round does not count.
    assert {"steady": 0, "too_few": 3}.get(found["phase"], 1) == ended.status, ended.said
    assert 5 <= len(found["rounds"]) <= 6
    assert ("page_write", "seconds", 25) == (found["profile"], found["unit"], found["rate_iops"])
    rounds = len(found["rounds"])
    assert data["charged_bytes"] >= 2 * (4_194_304 + rounds * 25 * 16_384)
    # A round that is over sooner than the progress is shown has no line.
    assert re.search(r"round [1-6] of at most 6", ended.said)
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert not place.directory.exists(), "what was made is gone"


def test_the_daemon_s_own_directory_keeps_its_file(place: Place) -> None:
    place.config.write_text(f'[probe]\ndirectory = "{place.directory}"\n{QUICK}{GATE}')
    # The rounds of fsync always count: they use no direct I/O.
    ended = place.run("steady-state", "fsync", "--rounds=5", "--yes")
    assert ended.status in (0, 1), ended.said
    assert "fsync" in ended.out
    assert 1 == len(list(place.directory.iterdir()))


def test_ctrl_c_in_the_first_round_ends_fio_and_removes_what_was_made(place: Place) -> None:
    place.config.write_text(SLOW + GATE)
    with place.begin("steady-state", where(place), "--rounds=500", "--json", "--yes") as child:
        place.await_fio()
        ended = end(child, signal.SIGINT)
    assert 3 == ended.status, ended.said
    assert "Traceback" not in ended.said
    assert "Ctrl-C" in ended.said + ended.out
    assert [] == place.fios()
    assert not place.directory.exists()


@pytest.mark.parametrize("rounds", ["4", "0", "-1", "1001"])
def test_too_few_or_too_many_rounds_are_refused(place: Place, rounds: str) -> None:
    assert "it must be 5 to 1000" in place.complaint(
        "steady-state", where(place), f"--rounds={rounds}", "--yes"
    )


def test_an_unknown_profile_is_an_error(place: Place) -> None:
    assert "there is no profile 'page'" in place.complaint("steady-state", "page", where(place))


def test_a_fio_without_result_gives_no_round(place: Place) -> None:
    fio = place.program("fio", pretending("exit 0"))
    assert "no round was measured" in place.complaint(
        "steady-state", where(place), f"--fio.path={fio}", "--yes", status=3
    )


def keep(place: Place, runs: int = 5) -> None:
    rounds = kept(PROFILES["fsync"], PROFILES["page_read"], runs=runs)
    StateFile(place.state).save({"probe": {"rounds": rounds}})


def test_saved_rounds_are_judged_without_a_run(place: Place) -> None:
    keep(place)
    ended = place.run("steady-state", "--kept")
    assert 0 == ended.status, ended.said
    assert "fsync is steady at 100 µs" in ended.out
    assert "page_read is steady" in ended.out
    assert "a drive, firmware 1.0" in ended.out
    assert "" == ended.said
    one = place.run("steady-state", "fsync", "--kept", "--json")
    assert ["fsync"] == [each["profile"] for each in json.loads(one.out)["data"]["series"]]


def test_too_few_saved_rounds_are_not_judged(place: Place) -> None:
    keep(place, runs=4)
    assert 3 == place.run("steady-state", "--kept").status


def test_missing_saved_rounds_are_an_error(place: Place) -> None:
    assert "the daemon has saved no rounds in" in place.complaint("steady-state", "--kept")
    keep(place)
    ended = place.run("steady-state", "burst", "--kept")
    assert "has saved no rounds of burst in" in ended.complaint


def test_an_unreadable_state_file_is_an_error(place: Place) -> None:
    (place.state / "state.json").write_text("{")
    assert "cannot be read" in place.complaint("steady-state", "--kept")
