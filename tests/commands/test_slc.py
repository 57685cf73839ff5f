"""``ssd-exporter slc``: arguments, real runs on small files, and all errors."""

import json
import signal
import time
from pathlib import Path

import pytest

from exporter.commands.slc import idle_times, size_bytes
from exporter.probe import slc_results
from exporter.probe.cliff_result import CliffResult
from exporter.runtime.errors import ConfigError
from tests.commands.measured import GATE, Place, end


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8GiB", 8 << 30), ("8G", 8 << 30), ("8 GiB", 8 << 30), ("8GB", 8 * 10**9),
        ("8g", 8 << 30), ("0.5T", 1 << 39), ("134217728", 1 << 27), ("131072k", 1 << 27),
    ],
)  # fmt: skip
def test_sizes_are_parsed_with_units(text: str, size: int) -> None:
    assert size == size_bytes(text)


@pytest.mark.parametrize("text", ["", "G", "-1G", "1e9", "8PB", "63MiB", "5T", "nan", "8 G iB"])
def test_an_invalid_size_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--bytes is"):
        size_bytes(text)


def test_without_recover_there_are_no_idle_times() -> None:
    assert () == idle_times(None, recover=False)
    assert (30, 120, 600, 3600) == idle_times(None, recover=True)
    assert (5, 60) == idle_times([60, 5, 60], recover=False)


@pytest.mark.parametrize("idle", [[0], [-1], [90_000], list(range(1, 10))])
def test_an_invalid_idle_time_is_refused(idle: list[int]) -> None:
    with pytest.raises(ConfigError, match="--idle"):
        idle_times(idle, recover=True)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, GATE)


real = pytest.mark.real


#: The exit status of a result; of all others it is 0.
STATUS = {
    **dict.fromkeys((CliffResult.CLIFF, CliffResult.RAMP), 1),
    **dict.fromkeys((CliffResult.ABORTED, CliffResult.DISTURBED), 3),
}


@real
def test_a_result_is_saved_and_printed_as_json(place: Place) -> None:
    """It depends on the disk of this host and its load; the JSON has the same keys for each one."""
    page = place.path / "page.html"
    asked = ("slc", str(place.directory), "--bytes=128MiB", "--yes", "--anyway", "--json")
    ended = place.run(*asked, f"--html={page}")
    printed = json.loads(ended.out)
    data, notes = printed["data"], printed["notes"]
    result = CliffResult(data["result"])
    assert STATUS.get(result, 0) == ended.status, (ended.said, notes)
    # The guard of these settings does not stop it.
    assert CliffResult.ABORTED is not result, notes
    # What the filesystem writes in our name counts too.
    print(result, notes)
    assert 1.05 * (128 << 20) >= data["written_bytes"] > 0
    assert 2 * (128 << 20) >= data["charged_bytes"] >= 2 * data["written_bytes"] * 0.9
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert not place.directory.exists(), "what was made is gone"
    (kept,) = slc_results.read_all(place.state).value
    assert (result, data["device"]) == (kept.cliff.result, kept.device)
    assert "writes at most 268 MB" in ended.said


@real
def test_nothing_is_written_without_consent(place: Place) -> None:
    assert "give --yes to consent" in place.complaint(
        "slc", str(place.directory), "--bytes=64MiB", "--anyway"
    )
    assert [] == slc_results.read_all(place.state).value
    assert not place.directory.exists()


@real
def test_no_on_a_terminal_stops_the_command(place: Place) -> None:
    ended = place.on_terminal(
        "slc", str(place.directory), "--bytes=64MiB", "--anyway", answer="n\n"
    )
    assert 2 == ended.status
    assert "writes at most 134 MB" in ended.said
    assert not place.directory.exists()


@real
def test_an_invalid_size_is_reported_first(place: Place) -> None:
    assert "--bytes is 'lots'; give a size such as 8GiB or 8GB" in place.complaint(
        "slc", str(place.directory), "--bytes=lots"
    )


@real
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("rate_iops = 5", "a drive shows no cliff below its full speed"),
        ('rw = "randread"', "does not write its file from end to end"),
        ("number_ios = 100", "does not write its file from end to end"),
    ],
)
def test_a_profile_that_would_show_no_cliff_is_refused(
    place: Place, settings: str, words: str
) -> None:
    place.config.write_text(f"[probe.profile.slc]\n{settings}\n{GATE}")
    assert words in place.complaint("slc", str(place.directory), "--yes", "--anyway")


@real
def test_too_little_free_space_is_an_error(place: Place) -> None:
    place.config.write_text(GATE.replace("free_ratio = 0", "free_ratio = 1"))
    assert "are free; " in place.complaint("slc", str(place.directory), "--yes", "--anyway")


@real
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_fio_and_removes_the_file(place: Place, number: signal.Signals) -> None:
    """The limit is larger than what can be written in the time; the samples are reported anyway."""
    with place.begin("slc", str(place.directory), "--bytes=8GiB", "--yes", "--anyway") as child:
        place.await_fio()
        time.sleep(0.6)
        ended = end(child, number)
    assert ended.status in (0, 1, 3), ended.said
    assert "Traceback" not in ended.said
    assert [] == place.fios()
    assert not place.directory.exists()
    kept = json.loads((place.state / "probe-budget.json").read_text())
    assert kept["reservation"] is None
