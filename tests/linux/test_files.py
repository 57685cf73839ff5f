"""Reading the kernel's files: whole, within bounds, telling "not there" from "broken"."""

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

from exporter.errors import NotAvailable, ReadError
from exporter.linux import files


def test_a_kernel_file_longer_than_a_page_is_read_to_its_end() -> None:
    """The kernel gives about a page a read, however much is asked for."""
    with ExitStack() as held:
        # Neighbours of different rights do not merge, so each makes a line of its own.
        for index in range(300):
            rights = mmap.PROT_READ | (mmap.PROT_WRITE if index % 2 else 0)
            held.enter_context(mmap.mmap(-1, mmap.PAGESIZE, prot=rights))
        text = files.read(Path("/proc/self/maps"))
        descriptor = os.open("/proc/self/maps", os.O_RDONLY)
        held.callback(os.close, descriptor)
        first = os.read(descriptor, 1 << 20)
    assert len(first) < len(text) / 3, "or this tests nothing"
    assert text.count("\n") > 300
    assert "[stack]" in text[-500:]
    assert text.endswith("\n")


def test_what_comes_in_pieces_is_put_together(tmp_path: Path) -> None:
    """A pipe of which each read gives a part, in the middle of a character too."""
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


def test_a_pipe_that_nobody_writes_to_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    done = threading.Event()

    def read() -> None:
        assert files.read(tmp_path / "fifo") == ""
        done.set()

    threading.Thread(target=read, daemon=True).start()
    assert done.wait(5)


@pytest.mark.parametrize("path", ["missing", "file/below", "missing/below"])
def test_what_is_not_there_is_told_from_what_is_broken(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotAvailable, match=path):
        files.read(tmp_path / path)


def test_what_cannot_be_read_is_said_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="Is a directory") as raised:
        files.read(tmp_path)
    assert str(tmp_path) in str(raised.value)


def test_a_link_in_a_circle_is_broken(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ReadError):
        files.read(tmp_path / "loop")


def test_a_file_too_large_is_not_read(tmp_path: Path) -> None:
    """Nor is its size taken into memory."""
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ReadError, match="larger than 33554432 bytes"):
        files.read(tmp_path / "huge")


def test_bytes_that_are_no_text_come_back_as_escapes(tmp_path: Path) -> None:
    (tmp_path / "name").write_bytes(b"a\xff\xfeb\n")
    assert "a\\xff\\xfeb\n" == files.read(tmp_path / "name")


def test_reading_leaves_no_descriptor_open(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        files.read(tmp_path / "file")
        for bad in (tmp_path, tmp_path / "missing"):
            with pytest.raises((NotAvailable, ReadError)):
                files.read(bad)
    assert before == len(os.listdir("/proc/self/fd"))


def test_without_descriptors_it_is_a_read_error(tmp_path: Path) -> None:
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
def test_an_attribute_that_says_nothing_is_not_known(
    tmp_path: Path, content: bytes, text: str | None, number: int | None
) -> None:
    (tmp_path / "attribute").write_bytes(content)
    assert text == files.read_attribute(tmp_path / "attribute")
    assert number == files.read_integer(tmp_path / "attribute")


def test_an_attribute_that_is_not_there_is_not_known(tmp_path: Path) -> None:
    """Nor one that cannot be read."""
    for path in (tmp_path / "missing", tmp_path):
        assert files.read_attribute(path) is None
        assert files.read_integer(path) is None


def test_base_0_takes_the_kernels_prefixes(tmp_path: Path) -> None:
    (tmp_path / "attribute").write_text("0x10\n")
    assert 16 == files.read_integer(tmp_path / "attribute", base=0)


@given(st.integers(0, (1 << 64) - 1))
def test_a_counter_has_at_most_64_bits(number: int) -> None:
    assert number == files.parse_counter(str(number)) == files.parse_counter(f"{number:x}", 16)
    with pytest.raises(ValueError, match="is not an unsigned 64-bit counter"):
        files.parse_counter(str(number + (1 << 64)))
    with pytest.raises(ValueError, match="is not an unsigned 64-bit counter"):
        files.parse_counter(str(-number - 1))


@given(st.text())
def test_any_text_is_a_counter_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert 0 <= files.parse_counter(text) < 1 << 64


@given(st.text())
def test_lines_that_do_not_end_are_faults(text: str) -> None:
    lines, faults = files.split_complete_lines("file", text)
    assert len(lines) == text.count("\n")
    assert bool(faults) == bool(text and not text.endswith("\n"))


def test_names_are_sorted_and_none_where_there_is_no_directory(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / name).mkdir()
    assert ("a", "b", "c") == files.list_names(tmp_path)
    assert () == files.list_names(tmp_path / "missing")


def test_a_file_that_stays_open_says_something_new_each_time() -> None:
    uptime = files.OpenFile("/proc/uptime")
    first = files.decode(uptime.read())
    time.sleep(0.05)
    assert first != files.decode(uptime.read())


def test_a_file_that_stays_open_is_read_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    file = files.OpenFile(path)
    for size in (200_000, 300_000, 3, 0, 5):
        path.write_text("x" * size)
        assert size == len(files.decode(file.read()))


def test_a_file_that_stays_open_may_come_and_go_and_another_take_its_place(tmp_path: Path) -> None:
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


def test_a_file_that_stays_open_and_cannot_be_read_is_tried_anew(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.mkdir()
    file = files.OpenFile(path)
    with pytest.raises(ReadError, match="Is a directory"):
        files.decode(file.read())
    path.rmdir()
    path.write_text("whole")
    assert "whole" == files.decode(file.read())


def test_a_file_that_stays_open_is_closed_with_the_last_who_knows_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    before = len(os.listdir("/proc/self/fd"))
    file = files.OpenFile(tmp_path / "file")
    file.read()
    file.read()
    assert before + 1 == len(os.listdir("/proc/self/fd"))
    del file
    assert before == len(os.listdir("/proc/self/fd"))
