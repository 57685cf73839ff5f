"""Kernel files: read completely, within bounds, with distinct errors; and paths of a host."""

import contextlib
import errno
import fcntl
import mmap
import os
import resource
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import files
from exporter.runtime.errors import NotAvailable, ReadError
from tests.duration import PATIENCE_SECONDS
from tests.processes import open_files


def test_file_longer_than_a_page_is_read_completely() -> None:
    """The kernel returns about one page per read(2), whatever the size of the buffer."""
    with ExitStack() as held:
        # Neighbours of different rights do not merge, so each makes a line of its own.
        for index in range(300):
            rights = mmap.PROT_READ | (mmap.PROT_WRITE if index % 2 else 0)
            held.enter_context(mmap.mmap(-1, mmap.PAGESIZE, prot=rights))
        text = files.read(Path("/proc/self/maps"))
        descriptor = os.open("/proc/self/maps", os.O_RDONLY)
        held.callback(os.close, descriptor)
        first = os.read(descriptor, 1 << 20)
    assert len(first) < len(text) / 3, "one read(2) must not return the whole file"
    assert text.count("\n") > 300
    assert "[stack]" in text[-500:]
    assert text.endswith("\n")


def test_partial_reads_are_joined(tmp_path: Path) -> None:
    """Each read of a pipe returns a part, which may end in the middle of a character."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    expected = "é" * 200_000
    keeping_open = os.open(fifo, os.O_RDWR)
    fcntl.fcntl(keeping_open, fcntl.F_SETPIPE_SZ, 1 << 20)
    os.write(keeping_open, expected.encode())
    reader = os.open(fifo, os.O_RDONLY)
    os.close(keeping_open)
    try:
        assert expected == files.read(Path(f"/proc/self/fd/{reader}"))
    finally:
        os.close(reader)


def test_pipe_without_writer_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    done = threading.Event()

    def read() -> None:
        assert files.read(tmp_path / "fifo") == ""
        done.set()

    threading.Thread(target=read, daemon=True).start()
    assert done.wait(PATIENCE_SECONDS)


@pytest.mark.parametrize("path", ["missing", "file/below", "missing/below"])
def test_absent_file_is_not_available(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotAvailable, match=path):
        files.read(tmp_path / path)


def test_read_error_has_the_path(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="Is a directory") as raised:
        files.read(tmp_path)
    assert str(tmp_path) in str(raised.value)


def test_link_cycle_is_a_read_error(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ReadError):
        files.read(tmp_path / "loop")


def test_too_large_file_is_not_read(tmp_path: Path) -> None:
    """And it does not take that much memory."""
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ReadError, match="larger than 2097152 bytes"):
        files.read(tmp_path / "huge")


def test_invalid_utf8_becomes_escapes(tmp_path: Path) -> None:
    (tmp_path / "name").write_bytes(b"a\xff\xfeb\n")
    assert "a\\xff\\xfeb\n" == files.read(tmp_path / "name")


def test_reading_closes_its_descriptors(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    before = open_files()
    for _ in range(50):
        files.read(tmp_path / "file")
        for bad in (tmp_path, tmp_path / "missing"):
            with pytest.raises((NotAvailable, ReadError)):
                files.read(bad)
    assert set() == open_files() - before


def test_too_many_open_files_is_a_read_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
        with pytest.raises(ReadError, match=os.strerror(errno.EMFILE)):
            files.read(tmp_path / "file")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    ("content", "text", "number"),
    [
        (b"512\n", "512", 512),
        (b" 7 \n\n", "7", 7),
        (b"-1\n", "-1", None),
        (b"0x10\n", "0x10", None),
        (b"none\n", "none", None),
        (b"\n", None, None),
        (b"", None, None),
        (b"1\x002\n", "1\0002", None),
        (b"9" * 5000, "9" * 5000, None),
    ],
)
def test_attribute_values(
    tmp_path: Path, content: bytes, text: str | None, number: int | None
) -> None:
    (tmp_path / "attribute").write_bytes(content)
    assert text == files.read_attribute(tmp_path / "attribute")
    assert number == files.read_integer(tmp_path / "attribute")


def test_absent_attribute_is_unknown(tmp_path: Path) -> None:
    """And one that cannot be read."""
    for path in (tmp_path / "missing", tmp_path):
        assert files.read_attribute(path) is None
        assert files.read_integer(path) is None


def test_base_0_accepts_prefixes(tmp_path: Path) -> None:
    (tmp_path / "attribute").write_text("0x10\n")
    assert 16 == files.read_integer(tmp_path / "attribute", base=0)


@given(st.integers(0, (1 << 64) - 1))
def test_counter_has_at_most_64_bits(number: int) -> None:
    assert number == files.parse_counter(str(number)) == files.parse_counter(f"{number:x}", 16)
    with pytest.raises(ValueError, match="is not an unsigned 64-bit counter"):
        files.parse_counter(str(number + (1 << 64)))
    with pytest.raises(ValueError, match="is not an unsigned 64-bit counter"):
        files.parse_counter(str(-number - 1))


@given(st.text())
def test_any_text_is_a_counter_or_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert 0 <= files.parse_counter(text) < 1 << 64


@given(st.text())
def test_line_without_end_is_a_fault(text: str) -> None:
    lines, faults = files.split_complete_lines("file", text, 1000)
    assert len(lines) == text.count("\n")
    assert bool(faults.listed()) == bool(text and not text.endswith("\n"))


def test_names_are_sorted_and_empty_without_directory(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / name).mkdir()
    assert ("a", "b", "c") == files.list_names(tmp_path)
    assert () == files.list_names(tmp_path / "missing")


def test_open_file_returns_new_content() -> None:
    uptime = files.OpenFile("/proc/uptime")
    first = files.decode(uptime.read())
    time.sleep(0.05)
    assert first != files.decode(uptime.read())


def test_open_file_is_read_from_start_to_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    file = files.OpenFile(path)
    for size in (200_000, 300_000, 3, 0, 5):
        path.write_text("x" * size)
        assert size == len(files.decode(file.read()))


def test_open_file_detects_removal_and_replacement(tmp_path: Path) -> None:
    path = tmp_path / "file"
    file = files.OpenFile(path)
    for _ in range(2):
        with pytest.raises(NotAvailable):
            files.decode(file.read())
        path.write_text("first")
        assert "first" == files.decode(file.read())
        (tmp_path / "next").write_text("another")
        (tmp_path / "next").replace(path)
        assert "another" == files.decode(file.read())
        path.unlink()


def test_open_file_retries_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.mkdir()
    file = files.OpenFile(path)
    with pytest.raises(ReadError, match="Is a directory"):
        files.decode(file.read())
    path.rmdir()
    path.write_text("whole")
    assert "whole" == files.decode(file.read())


def test_open_file_is_closed_with_its_last_reference(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    before = open_files()
    file = files.OpenFile(tmp_path / "file")
    file.read()
    file.read()
    assert 1 == len(open_files() - before)
    del file
    assert set() == open_files() - before


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "data/mysql/log").mkdir(parents=True)
    (tmp_path / "var/lib").mkdir(parents=True)
    (tmp_path / "var/lib/mysql").symlink_to("/data/mysql")
    (tmp_path / "data/mysql/undo").symlink_to("../../var/./undo")
    (tmp_path / "out").symlink_to("../../../../../etc")
    (tmp_path / "ring").symlink_to("gnir")
    (tmp_path / "gnir").symlink_to("ring")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/var/lib/mysql", "/data/mysql"),
        ("/var/lib/mysql/log/", "/data/mysql/log"),
        ("/var/lib/mysql/undo/x", "/var/undo/x"),
        ("/var/lib/../lib/./nothing", "/var/lib/nothing"),
        ("/out/passwd", "/etc/passwd"),
        ("/..", "/"),
        ("/a\0b", "/a\0b"),
    ],
)
def test_resolve(root: Path, path: str, expected: str) -> None:
    """Links are followed as on the host: absolute ones start at its root, and none leaves it."""
    assert expected == files.resolve_symlinks(root, path)


def test_link_cycle_ends(root: Path) -> None:
    """Links that lead to each other are not followed endlessly."""
    assert files.resolve_symlinks(root, "/ring/a").endswith("/a")


@given(st.text())
def test_any_path(path: str) -> None:
    """Any path becomes absolute, without "." and ".."."""
    found = files.resolve_symlinks(Path("/nonexistent"), path)
    assert found.startswith("/")
    assert not {"..", "."} & set(found.split("/"))


def test_path_above_path_max_is_unchanged(tmp_path: Path) -> None:
    """Any user may start a process named mysqld with such a command line."""
    (tmp_path / "a").symlink_to("b")
    long = "/a" * 65_000
    assert long == files.resolve_symlinks(tmp_path, long)


@pytest.mark.parametrize("name", ["stat", "pressure/io"])
def test_one_read_returns_a_kernel_file_that_is_generated_at_once(name: str) -> None:
    whole = files.read(Path("/proc", name)).splitlines()
    single = files.decode(files.OpenFile(Path("/proc", name), is_single=True).read()).splitlines()
    assert [line.split()[0] for line in whole] == [line.split()[0] for line in single]


@pytest.mark.parametrize("size", [0, 1, (1 << 16) - 1, 1 << 16, 200_000])
def test_one_read_of_a_longer_file_is_followed_by_others(tmp_path: Path, size: int) -> None:
    path = tmp_path / "stat"
    path.write_bytes(b"x" * size)
    file = files.OpenFile(path, is_single=True)
    assert [size, size] == [len(file.read().content) for _ in range(2)]


def test_one_read_respects_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "stat"
    path.write_bytes(b"x" * 101)
    assert files.OpenFile(path, 100, is_single=True).read().error is not None
    assert files.OpenFile(path, 101, is_single=True).read().error is None
