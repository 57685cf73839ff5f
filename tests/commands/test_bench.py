"""``ssd-exporter bench``: real fio on small files, and all errors."""

import json
import re
import signal
import time
from pathlib import Path

import pytest

from tests.commands.measured import GATE, Place, end, pretending
from tests.duration import PATIENCE_SECONDS

pytestmark = pytest.mark.real

#: Each cell ends by its size.
TINY = ("--size=8M", f"--seconds={PATIENCE_SECONDS:.0f}")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, GATE)


def test_every_cell_is_measured_and_the_file_is_removed(place: Place) -> None:
    # Of so many I/Os, mixed by chance, some read and some write.
    sizes = ("--block-size=16k,128k", "--jobs", "1", "--jobs", "4")
    ended = place.run("bench", str(place.directory), "--yes", "--json", *sizes, *TINY)
    assert 0 == ended.status, ended.said
    data = json.loads(ended.out)["data"]
    cells = {(each["mode"], each["block_bytes"], each["jobs"]): each for each in data["cells"]}
    assert 20 == len(cells)
    for (mode, block, _), cell in cells.items():
        wanted = {"randrw": {"read", "write"}}.get(mode, {mode.removeprefix("rand")})
        assert wanted == set(cell["ops"])
        assert 8 << 20 == sum(op["bytes"] for op in cell["ops"].values())
        for op in cell["ops"].values():
            rate = op["iops"] * block
            assert rate == pytest.approx(op["bytes_per_second"], rel=0.03)
    assert "writes at most 218 MB" in ended.said
    # The file, 12 cells that write all of it or a quarter, and as much for the filesystem.
    # What others have written to the device meanwhile counts too: that has no upper bound.
    wrote = [cell["ops"]["write"] for cell in cells.values() if "write" in cell["ops"]]
    written = sum(op["bytes"] for op in wrote)
    assert 2 * ((8 << 20) + written) <= 218_103_808
    assert 2 * ((8 << 20) + written) <= data["charged_bytes"]
    assert not place.directory.exists()
    kept = json.loads((place.state / "probe-budget.json").read_text())
    assert kept["reservation"] is None


def test_deep_queues_are_labelled(place: Place) -> None:
    arguments = ("--mode=randread", "--block-size=4k", "--depth=8", *TINY)
    ended = place.run("bench", str(place.directory), "--yes", "--json", *arguments)
    cells = json.loads(ended.out)["data"]["cells"]
    assert [(8, "libaio")] * 2 == [(each["depth"], each["engine"]) for each in cells]


def test_without_a_terminal_it_requires_yes(place: Place) -> None:
    ended = place.run("bench", str(place.directory), *TINY)
    assert 2 == ended.status
    assert "40 cells, one at a time" in ended.said
    assert "give --yes to consent" in ended.complaint
    assert not place.directory.exists()


def test_on_a_terminal_it_asks(place: Place) -> None:
    arguments = ("--mode=randread", "--block-size=4k", "--jobs=1", *TINY)
    no = place.on_terminal("bench", str(place.directory), *arguments, answer="n\n")
    assert 2 == no.status
    assert "nothing was written" in no.said
    assert not place.directory.exists()
    yes = place.on_terminal("bench", str(place.directory), *arguments, answer="y\n")
    assert 0 == yes.status, yes.said
    assert "IOPS / MB/s" in yes.out


def test_an_empty_answer_is_a_refusal(place: Place) -> None:
    end_of_input = place.on_terminal("bench", str(place.directory), *TINY, answer="\x04")
    assert 2 == end_of_input.status
    assert "nothing was written" in end_of_input.said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reports_the_finished_cells(place: Place, number: signal.Signals) -> None:
    arguments = ("--mode=randread", "--size=256M", "--seconds=5", "--yes", "--json")
    # Small blocks: no cell is over before its time.
    cells = ("--block-size=512", "--jobs=1,2,3,4,5,6,7,8")
    child = place.begin("bench", str(place.directory), *arguments, *cells)
    assert child.stderr is not None
    for line in child.stderr:
        if re.search(r": cell [2-7] of 8,", line):
            break
    ended = end(child, number)
    assert 3 == ended.status
    data = json.loads(ended.out)["data"]
    assert data["problem"].startswith("ended by ")
    measured = [each for each in data["cells"] if each["ops"]]
    assert 1 <= len(measured) < 8
    assert 8 - len(measured) == data["missing_cells"]
    assert [] == place.fios()
    assert not place.directory.exists()


def test_a_signal_before_the_first_cell_ends_reports_nothing(place: Place) -> None:
    arguments = ("--mode=randread", "--size=256M", "--seconds=60", "--yes", "--block-size=512")
    child = place.begin("bench", str(place.directory), *arguments)
    place.await_fio()
    time.sleep(0.5)
    ended = end(child, signal.SIGTERM)
    assert 3 == ended.status
    assert "nothing was measured: ended by SIGTERM" in ended.said
    assert not place.directory.exists()


def test_a_failed_cell_does_not_stop_the_others(place: Place) -> None:
    """As blocks of 512 bytes do on drives of 4 KiB sectors."""
    picky = place.program("fio", 'case "$*" in *--bs=512*) exit 1;; esac\nexec fio "$@"')
    arguments = ("--mode=randread", "--block-size=512,4k", "--jobs=1", *TINY)
    ended = place.run("bench", str(place.directory), "--yes", f"--fio.path={picky}", *arguments)
    assert 3 == ended.status
    assert "1 of 2 cells were measured" in ended.out
    assert "Not measured" in ended.out


def test_missing_fio_is_reported_before_the_consent(place: Place) -> None:
    assert "install fio" in place.complaint(
        "bench", str(place.directory), "--fio.path=/nonexistent/fio", status=3
    )


def test_a_fio_that_hangs_ends_the_matrix(place: Place) -> None:
    hung = place.program("fio", pretending("trap '' TERM\nexec sleep 1000"))
    arguments = ("--mode=randread", "--jobs=1", "--yes", "--size=8M", "--seconds=1")
    ended = place.run("bench", str(place.directory), f"--fio.path={hung}", *arguments)
    assert 3 == ended.status
    assert "nothing was measured: fio was ended: it ran longer than 7 s" in ended.complaint
    assert not place.directory.exists()


def test_an_unwritable_html_file_is_reported_before_the_run(place: Place) -> None:
    ended = place.run("bench", str(place.directory), "--yes", "--html=/nonexistent/page.html")
    assert 2 == ended.status
    assert "the HTML report cannot be written" in ended.complaint
    assert "40 cells" not in ended.said


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("--mode=reed", "modes are randread, read"),
        ("--block-size=3", "a multiple of 512"),
        ("--block-size=lots", "give a size such as 16K or 1M"),
        ("--jobs=0", "it must be 1 to 16"),
        ("--jobs=two", "it must be a whole number"),
        ("--seconds=nan", "it must be 1 to 600"),
        ("--seconds=soon", "invalid float value"),
        ("--size=1k", "at least one block per job"),
        ("--depth=1000", "it must be 1 to 256"),
    ],
)
def test_a_mistake_is_one_line(place: Place, argument: str, words: str) -> None:
    assert words in place.complaint("bench", str(place.directory), argument)
