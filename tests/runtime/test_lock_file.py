"""/proc/locks: the process that holds a flock."""

import fcntl
import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from exporter.runtime.lock_file import flock_holder, parse_flock_holder

TEXT = """\
1: POSIX  ADVISORY  WRITE 71 fd:01:1001 0 EOF
2: FLOCK  ADVISORY  WRITE 812 fd:01:1002 0 EOF
2: -> FLOCK  ADVISORY  WRITE 900 fd:01:1002 0 EOF
3: FLOCK  ADVISORY  READ  0 103:1f:7 0 EOF
"""


def test_holder_and_not_a_waiting_process() -> None:
    assert 812 == parse_flock_holder(TEXT, os.makedev(0xFD, 1), 1002)


def test_other_locks_and_other_files_have_no_holder() -> None:
    assert parse_flock_holder(TEXT, os.makedev(0xFD, 1), 1001) is None, "a POSIX lock"
    assert parse_flock_holder(TEXT, os.makedev(0xFD, 2), 1002) is None
    assert parse_flock_holder("", 0, 0) is None


def test_process_in_another_namespace_is_unknown() -> None:
    assert parse_flock_holder(TEXT, os.makedev(0x103, 0x1F), 7) is None


def test_own_lock_is_found(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with file.open("w") as held:
        assert flock_holder(Path("/proc"), file) is None
        fcntl.flock(held, fcntl.LOCK_EX)
        assert os.getpid() == flock_holder(Path("/proc"), file)


def test_unreadable_files_are_unknown(tmp_path: Path) -> None:
    assert flock_holder(Path("/proc"), tmp_path / "none") is None
    (tmp_path / "lock").touch()
    assert flock_holder(tmp_path, tmp_path / "lock") is None


@given(
    st.one_of(st.text(), st.text(alphabet="0123456789:FLOCKADVISRYWE abcdef->\n")),
    st.integers(0, 1 << 40),
    st.integers(0, 1 << 63),
)
def test_any_text_yields_a_process_or_none(text: str, device: int, inode: int) -> None:
    found = parse_flock_holder(text, device, inode)
    assert found is None or found > 0
