"""Every system call that SQLite makes on the wear history fails once, with each error."""

import ctypes
import errno
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from exporter.drives.wear_counter import DAY, WearObservation
from exporter.wear.wear_history import WearHistory
from tests.injected_errors import ERRORS
from tests.processes import run_program
from tests.required import lacking

_SOURCE = Path(__file__).with_name("failing_calls.c")
_NAME = "history.sqlite"

#: Days in the history before the call that fails, the day recorded with it, and a later one.
_OLD, _NEW, _LATER = [1, 2, 3], 4, 5


def day(number: int) -> WearObservation:
    return WearObservation(number * DAY, number * DAY, 0.1, 0.01, number * 10**10)


def days(path: Path) -> list[float]:
    """Days in the history, read by a new process."""
    history = WearHistory.open(path)
    try:
        return [seen.at / DAY for seen in history.observations("a drive")]
    finally:
        history.close()


def recorded(path: Path, *numbers: int) -> WearHistory:
    history = WearHistory.open(path)
    for number in numbers:
        history.record("a drive", day(number))
        history.flush()
    return history


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes calls fail."""
    if shutil.which("gcc") is None:
        lacking("gcc is not installed")
    library = tmp_path_factory.mktemp("shim") / "failing_calls.so"
    run_program(["gcc", "-shared", "-fPIC", "-o", library, _SOURCE, "-ldl"], check=True)
    return library


@pytest.mark.parametrize("error", ERRORS)
def test_no_call_that_fails_costs_a_row(shim: Path, error: str) -> None:
    done = run_program(
        [sys.executable, "-m", "tests.wear.test_sqlite_calls", shim, error],
        env={**os.environ, "LD_PRELOAD": str(shim)},
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    calls = int(done.stdout.split()[0])
    assert calls > 30, "SQLite calls functions that the library does not replace"


def main(library: str, error: str) -> None:
    """Prints the number of calls of a recording, each of which has failed once."""
    shim: Any = ctypes.CDLL(library)
    with tempfile.TemporaryDirectory() as directory:
        before, path = Path(directory) / "before", Path(directory) / "now" / _NAME
        before.mkdir()
        recorded(before / _NAME, *_OLD).close()
        number = calls = 0
        while number <= calls:
            number += 1
            shutil.rmtree(path.parent, ignore_errors=True)
            shutil.copytree(before, path.parent)
            shim.fail_at(number, getattr(errno, error))
            history = recorded(path, _NEW)
            calls = max(calls, shim.calls())
            shim.fail_at(0, 0)
            # The daemon runs on, and the disk works again.
            history.record("a drive", day(_LATER))
            history.flush()
            history.close()
            found = days(path)
            assert [*_OLD, _NEW, _LATER] == found, (number, found, sorted(os.listdir(path.parent)))
    print(calls)


if __name__ == "__main__":
    main(*sys.argv[1:])
