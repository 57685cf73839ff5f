"""Tests the host lock, and the killing of a fio that a killed daemon left running."""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probe.host_lock import HostLock, ProbePidFile
from tests.duration import PATIENCE_SECONDS, wait_until


@pytest.fixture
def fio(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with the name fio."""
    program = tmp_path / "fio"
    shutil.copy("/bin/sleep", program)
    process = subprocess.Popen([program, "60"])
    yield process
    process.kill()
    process.wait()


def test_one_process_holds_the_lock_at_a_time(tmp_path: Path) -> None:
    one, other = HostLock((tmp_path,)), HostLock((tmp_path,))
    assert one.acquire()
    assert one.acquire(), "again is no mistake"
    assert not other.acquire()
    one.release()
    assert other.acquire()
    other.release()


def test_the_first_usable_directory_is_used(tmp_path: Path) -> None:
    one = HostLock((tmp_path / "none", tmp_path))
    assert one.acquire()
    assert ["ssd-exporter-probe.lock"] == os.listdir(tmp_path)
    one.release()


def test_other_users_cannot_read_a_new_lock_file(tmp_path: Path) -> None:
    """Everyone who can open the file can hold the lock, and so prevent all probes."""
    before = os.umask(0)
    try:
        assert HostLock((tmp_path,)).acquire()
    finally:
        os.umask(before)
    assert 0o640 == stat.S_IMODE((tmp_path / "ssd-exporter-probe.lock").stat().st_mode)


def test_a_link_or_a_pipe_is_not_used_as_the_lock_file(tmp_path: Path) -> None:
    name = tmp_path / "ssd-exporter-probe.lock"
    name.symlink_to("/etc/passwd")
    assert not HostLock((tmp_path,)).acquire()
    name.unlink()
    os.mkfifo(name)
    assert not HostLock((tmp_path,)).acquire()


def test_a_program_that_inherited_the_lock_keeps_it_until_it_is_released(tmp_path: Path) -> None:
    """The lock belongs to the open file and not to the process (flock(2))."""
    holder = (
        "import sys, subprocess, pathlib\n"
        "from exporter.probe.host_lock import HostLock\n"
        "lock = HostLock((pathlib.Path(sys.argv[1]),))\n"
        "lock.acquire()\n"
        "with lock.inheritable():\n"
        "    child = subprocess.Popen(['sleep', '60'], close_fds=False)\n"
        "print(child.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
    other = HostLock((tmp_path,))
    assert not other.acquire(), "the daemon is dead, its program is not"
    os.kill(child, 9)
    wait_until(other.acquire, "the release of the lock")
    other.release()


def test_a_fio_of_a_dead_daemon_is_killed(
    tmp_path: Path, fio: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A killed process of a busy machine ends late.
    monkeypatch.setattr("exporter.probe.host_lock._KILL_SECONDS", PATIENCE_SECONDS)
    owner = subprocess.Popen(["true"])
    owner.wait()
    pid_file = ProbePidFile(tmp_path)
    pid_file.write(fio.pid)
    _set_owner(tmp_path, [owner.pid, 1])
    assert pid_file.kill_leftover()
    assert -9 == fio.wait(PATIENCE_SECONDS)
    assert not (tmp_path / "probe-process.json").exists()


def test_a_fio_of_another_instance_keeps_running(
    tmp_path: Path, fio: subprocess.Popen[bytes]
) -> None:
    pid_file = ProbePidFile(tmp_path)
    pid_file.write(fio.pid)
    assert pid_file.kill_leftover()
    assert fio.poll() is None
    assert (tmp_path / "probe-process.json").exists()


def test_a_file_without_a_record_is_kept(tmp_path: Path) -> None:
    """Another instance may replace it by its own record between the check and the removal."""
    file = tmp_path / "probe-process.json"
    file.touch()
    assert ProbePidFile(tmp_path).kill_leftover()
    assert file.is_file()


def test_a_pipe_instead_of_the_pid_file_is_not_opened(tmp_path: Path) -> None:
    """Opening it would wait for a writer."""
    os.mkfifo(tmp_path / "probe-process.json")
    assert ProbePidFile(tmp_path).kill_leftover()
    assert (tmp_path / "probe-process.json").is_fifo()


def test_another_process_with_the_same_pid_is_not_killed(
    tmp_path: Path, fio: subprocess.Popen[bytes]
) -> None:
    pid_file = ProbePidFile(tmp_path)
    pid_file.write(fio.pid)
    _set_owner(tmp_path, [2, 1])
    file = tmp_path / "probe-process.json"
    noted = json.loads(file.read_text())
    noted["child"][1] += 1
    file.write_text(json.dumps(noted))
    assert pid_file.kill_leftover()
    assert fio.poll() is None


def test_a_process_with_another_name_is_not_killed(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        pid_file = ProbePidFile(tmp_path)
        pid_file.write(process.pid)
        _set_owner(tmp_path, [2, 1])
        assert pid_file.kill_leftover()
        assert process.poll() is None
        process.kill()


@given(text=st.text() | st.recursive(st.integers() | st.none(), st.lists).map(json.dumps))
def test_an_invalid_pid_file_is_ignored(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    place = tmp_path_factory.mktemp("marker")
    (place / "probe-process.json").write_text(text, encoding="utf-8", errors="replace")
    assert ProbePidFile(place).kill_leftover()


def _set_owner(place: Path, owner: list[int]) -> None:
    file = place / "probe-process.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"owner": owner}))
