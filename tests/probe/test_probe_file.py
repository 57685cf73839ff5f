"""Tests the creation, the checks and the removal of the probes' file."""

import os
import socket
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.probe.probe_file import (
    FilesystemFull,
    UnsafeProbeFile,
    check,
    missing_bytes,
    prepare,
    remove,
    shorten,
)
from tests import mounts
from tests.required import lacking

MIB = 1 << 20
SIZE = 3 * MIB + 4096

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes device nodes and mounts")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "probe"


def test_the_directory_and_the_file_are_created_private(directory: Path) -> None:
    path = prepare(directory, "nvme0n1", SIZE)
    assert directory / "nvme0n1" == path
    assert (0o40700, 0o100600, SIZE) == (
        directory.stat().st_mode,
        path.stat().st_mode,
        path.stat().st_size,
    )
    assert path == check(directory, "nvme0n1", SIZE)


def test_the_content_is_incompressible_and_allocated(directory: Path) -> None:
    path = prepare(directory, "sda", SIZE)
    assert len(zlib.compress(path.read_bytes(), 1)) > SIZE
    assert 0 == missing_bytes(directory, "sda", SIZE)


def test_the_file_is_kept_between_runs(directory: Path) -> None:
    path = prepare(directory, "sda", SIZE)
    before, content = path.stat(), path.read_bytes()
    prepare(directory, "sda", SIZE - MIB)
    assert (before.st_ino, before.st_mtime_ns) == (path.stat().st_ino, path.stat().st_mtime_ns)
    assert content == path.read_bytes()


def test_a_short_file_is_filled_up(directory: Path) -> None:
    """The file is short after a kill during the filling."""
    path = prepare(directory, "sda", MIB)
    content = path.read_bytes()
    assert SIZE - MIB == missing_bytes(directory, "sda", SIZE)
    prepare(directory, "sda", SIZE)
    assert content == path.read_bytes()[:MIB]
    assert b"\0" * 4096 not in path.read_bytes()


def test_progress_is_reported_in_order_up_to_the_size(directory: Path) -> None:
    heard: list[int] = []
    prepare(directory, "sda", SIZE, progress=heard.append)
    assert [MIB, 2 * MIB, 3 * MIB, SIZE] == heard


class GivenUp(BaseException):
    pass


def giving_up(size: int) -> None:
    raise GivenUp(size)


def test_an_aborted_filling_removes_a_new_file(directory: Path) -> None:
    with pytest.raises(GivenUp):
        prepare(directory, "sda", SIZE, progress=giving_up)
    assert [] == os.listdir(directory)


def test_an_aborted_filling_restores_the_earlier_length(directory: Path) -> None:
    path = prepare(directory, "sda", MIB)
    with pytest.raises(GivenUp):
        prepare(directory, "sda", SIZE, progress=giving_up)
    assert MIB == path.stat().st_size


def test_without_fill_only_the_length_is_set(directory: Path) -> None:
    path = prepare(directory, "slc", 64 * MIB, fill=False)
    assert 64 * MIB == path.stat().st_size
    assert 64 * MIB == missing_bytes(directory, "slc", 64 * MIB)


def test_removing_a_missing_file_is_not_an_error(directory: Path) -> None:
    prepare(directory, "slc", 4096)
    remove(directory, "slc")
    remove(directory, "slc")
    assert [] == os.listdir(directory)


@pytest.fixture(
    params=["link", "dangling", "hard_link", "directory", "pipe", "socket", "block", "character"]
)
def replaced(request: pytest.FixtureRequest, directory: Path, tmp_path: Path) -> Iterator[Path]:
    """The probes' file, replaced by something else. Its target must not change."""
    directory.mkdir(mode=0o700)
    path, other = directory / "sda", tmp_path / "precious"
    other.write_bytes(b"precious")
    kind = str(request.param)
    bound = socket.socket(socket.AF_UNIX)
    try:
        if kind == "link":
            path.symlink_to(other)
        elif kind == "dangling":
            path.symlink_to(tmp_path / "made-by-us")
        elif kind == "hard_link":
            path.hardlink_to(other)
        elif kind == "directory":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "socket":
            bound.bind(str(path))
        elif os.geteuid() != 0:
            lacking("device nodes are made by root")
        else:
            # /dev/null, and a device number that no driver has.
            number = os.makedev(1, 3) if kind == "character" else os.makedev(240, 250)
            os.mknod(path, 0o600 | (0o020000 if kind == "character" else 0o060000), number)
        yield path
    finally:
        bound.close()
    assert b"precious" == other.read_bytes()
    assert not (tmp_path / "made-by-us").exists()


def test_only_our_own_regular_file_is_changed(replaced: Path) -> None:
    for refuse in (
        lambda: prepare(replaced.parent, replaced.name, SIZE),
        lambda: check(replaced.parent, replaced.name, 1),
        lambda: remove(replaced.parent, replaced.name),
    ):
        with pytest.raises(UnsafeProbeFile, match=r"remove it|overwrite the other file"):
            refuse()
    assert os.path.lexists(replaced)


@as_root
def test_a_file_of_another_user_is_refused(directory: Path) -> None:
    path = prepare(directory, "sda", 4096)
    os.chown(path, 12345, 12345)
    with pytest.raises(UnsafeProbeFile, match="belongs to user 12345"):
        check(directory, "sda", 4096)


@as_root
def test_a_directory_of_another_user_is_refused(directory: Path) -> None:
    directory.mkdir(mode=0o700)
    os.chown(directory, 12345, 12345)
    with pytest.raises(
        UnsafeProbeFile, match="belongs to user 12345, not 0; probes need a private directory"
    ):
        prepare(directory, "sda", 4096)
    assert [] == os.listdir(directory)


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701, 0o1777])
def test_a_directory_that_is_open_to_others_is_refused(directory: Path, mode: int) -> None:
    directory.mkdir()
    directory.chmod(mode)
    with pytest.raises(UnsafeProbeFile, match="chmod 0700"):
        prepare(directory, "sda", 4096)


def test_a_link_to_a_directory_is_refused(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    directory.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafeProbeFile, match="follow no links"):
        prepare(directory, "sda", 4096)
    assert [] == os.listdir(tmp_path / "elsewhere")


def test_a_missing_directory_is_created_by_prepare_and_refused_by_check(directory: Path) -> None:
    with pytest.raises(UnsafeProbeFile, match="No such file"):
        check(directory, "sda", 4096)
    with pytest.raises(UnsafeProbeFile, match="No such file"):
        prepare(directory / "a" / "b", "sda", 4096)


def test_a_missing_or_short_file_is_refused_before_a_run(directory: Path) -> None:
    """fio deletes a short file, and then refuses to create one."""
    path = prepare(directory, "sda", SIZE)
    os.truncate(path, MIB)
    with pytest.raises(UnsafeProbeFile, match="shorter than"):
        check(directory, "sda", SIZE)
    path.unlink()
    with pytest.raises(UnsafeProbeFile, match="no longer exists"):
        check(directory, "sda", SIZE)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of 8 MiB."""
    with mounts.small_disk(tmp_path, 8 * MIB) as mountpoint:
        yield mountpoint


@as_root
@pytest.mark.real
def test_a_full_disk_is_an_error_and_the_space_is_freed(small_disk: Path) -> None:
    directory = small_disk / "probe"
    free = os.statvfs(small_disk).f_bfree
    with pytest.raises(FilesystemFull, match="is removed"):
        prepare(directory, "sda", 64 * MIB)
    assert [] == os.listdir(directory)
    prepare(directory, "sda", MIB)
    with pytest.raises(FilesystemFull):
        prepare(directory, "sda", 64 * MIB)
    assert MIB == (directory / "sda").stat().st_size
    remove(directory, "sda")
    assert free - os.statvfs(small_disk).f_bfree <= 2


@as_root
@pytest.mark.real
def test_a_read_only_filesystem_is_refused_with_the_kernel_s_message(small_disk: Path) -> None:
    directory = small_disk / "probe"
    directory.mkdir(mode=0o700)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(UnsafeProbeFile, match="Read-only file system"):
        prepare(directory, "sda", MIB)


def test_shorten_never_extends_a_file(directory: Path) -> None:
    path = prepare(directory, "sda", SIZE)
    before = path.read_bytes()
    shorten(directory, "sda", MIB)
    shorten(directory, "sda", SIZE)
    assert before[:MIB] == path.read_bytes()
    shorten(directory, "none", MIB)
    assert ["sda"] == os.listdir(directory)


def test_the_target_of_a_link_is_not_shortened(directory: Path, tmp_path: Path) -> None:
    prepare(directory, "sda", MIB)
    precious = tmp_path / "precious"
    precious.write_bytes(b"data")
    (directory / "link").symlink_to(precious)
    with pytest.raises(UnsafeProbeFile):
        shorten(directory, "link", 0)
    assert b"data" == precious.read_bytes()
