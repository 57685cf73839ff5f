"""Files whose path a user gives: what is replaced, and what a reader sees meanwhile."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.runtime import output_file
from exporter.runtime.untrusted_file import UnusableFile
from tests.runtime.test_untrusted_file import TRAPS

ROOT = Path(__file__).parents[2]

#: Writes one of two files of equal letters again and again, until the number of rounds.
_WRITER = """
import sys
from pathlib import Path
from exporter.runtime import output_file
for number in range(int(sys.argv[3])):
    output_file.write(Path(sys.argv[1]), sys.argv[2].encode() * 50_000, 0o644)
"""


@pytest.mark.parametrize("trap", TRAPS)
def test_only_a_regular_file_is_replaced(tmp_path: Path, trap: str) -> None:
    path = tmp_path / "ssd.prom"
    prepare, word = TRAPS[trap]
    prepare(path)
    before = os.lstat(path)
    for use in (output_file.check, lambda path: output_file.write(path, b"new", 0o644)):
        with pytest.raises(UnusableFile, match=f"it is {word}, not a regular file"):
            use(path)
    assert before == os.lstat(path)
    assert ["ssd.prom"] == os.listdir(tmp_path)


def test_a_device_is_not_replaced() -> None:
    before = os.lstat("/dev/null")
    for use in (output_file.check, lambda path: output_file.write(path, b"new", 0o644)):
        with pytest.raises(UnusableFile, match="it is a device"):
            use(Path("/dev/null"))
    assert before.st_ino == os.lstat("/dev/null").st_ino


@pytest.mark.parametrize("write", [output_file.check, lambda p: output_file.write(p, b"", 0o644)])
@pytest.mark.parametrize("name", ["missing/ssd.prom", "file/ssd.prom", "x" * 300, "a\0b", "..", ""])
def test_a_path_that_cannot_be_written_is_an_error(
    tmp_path: Path, name: str, write: Callable[[Path], None]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises((OSError, ValueError)):
        write(Path(f"{tmp_path}/{name}") if name else Path("/"))
    assert ["file"] == os.listdir(tmp_path)


@pytest.mark.real
def test_two_processes_that_write_the_same_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "ssd.prom"
    output_file.write(path, b"a" * 50_000, 0o644)
    argv = [sys.executable, "-c", _WRITER, str(path)]
    running = [subprocess.Popen([*argv, letter, "200"], cwd=ROOT) for letter in "ab"]
    contents = set()
    while any(process.poll() is None for process in running):
        contents.add(path.read_bytes())
    assert [0, 0] == [process.returncode for process in running]
    assert contents <= {b"a" * 50_000, b"b" * 50_000}
    assert ["ssd.prom"] == os.listdir(tmp_path)
