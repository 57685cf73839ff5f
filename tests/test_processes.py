"""The memory of processes."""

import mmap
import os
from pathlib import Path

from tests.processes import anonymous_kilobytes, resident_kilobytes

_BYTES = 32 << 20


def test_anonymous_memory_is_allocated_and_not_that_of_mapped_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    os.truncate(path, _BYTES)
    pid = os.getpid()
    before = anonymous_kilobytes(pid), resident_kilobytes(pid)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert 0 == sum(mapped[:: mmap.PAGESIZE])
        of_file = anonymous_kilobytes(pid), resident_kilobytes(pid)
    # An object could use memory that the C library has kept since an earlier test.
    with mmap.mmap(-1, _BYTES, flags=mmap.MAP_PRIVATE) as allocated:
        allocated[:: mmap.PAGESIZE] = b"1" * (_BYTES // mmap.PAGESIZE)
        both = anonymous_kilobytes(pid), resident_kilobytes(pid)
    least, tolerance = _BYTES >> 11, _BYTES >> 12
    assert of_file[0] - before[0] < tolerance
    assert of_file[1] - before[1] > least
    assert both[0] - before[0] > least
