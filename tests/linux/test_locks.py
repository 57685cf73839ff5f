"""Tests of `linux.locks`: which processes lock files."""

import fcntl
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import locks

TEXT = """\
1: POSIX  ADVISORY  WRITE 1234 08:01:131 0 EOF
1: -> POSIX  ADVISORY  WRITE 77 08:01:131 0 EOF
2: FLOCK  ADVISORY  WRITE 88 08:01:132 0 EOF
3: POSIX  ADVISORY  READ 99 08:01:133 128 128
4: OFDLCK ADVISORY  WRITE -1 08:01:134 0 EOF
5: POSIX  ADVISORY  WRITE 5678 08:01:135 0 EOF
6: POSIX  ADVISORY  WRITE
"""


def test_only_held_posix_write_locks_count() -> None:
    assert {1234, 5678} == locks.parse(TEXT)


def test_without_the_file_no_process_is_known(tmp_path: Path) -> None:
    assert frozenset() == locks.read(tmp_path)


@given(st.text())
def test_any_text_yields_processes(text: str) -> None:
    assert all(number >= 0 for number in locks.parse(text))


@pytest.mark.real
def test_a_lock_of_this_process_is_found(tmp_path: Path) -> None:
    assert os.getpid() not in locks.read(Path("/proc"))
    with (tmp_path / "ibdata1").open("wb") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        assert os.getpid() in locks.read(Path("/proc"))
