"""Tests whether a process waits for I/O, by the states of its threads."""

import os
import subprocess
from pathlib import Path

import pytest

from exporter.linux.task_states import sees_all_processes, waits_for_io


def thread(proc: Path, number: int, state: str, name: str = "mariadbd") -> None:
    place = proc / "77/task" / str(number)
    place.mkdir(parents=True, exist_ok=True)
    (place / "stat").write_text(f"{number} ({name}) {state} 1 77 77 0 -1 4194560 0 0 0\n")


def test_one_thread_in_uninterruptible_sleep_is_enough(tmp_path: Path) -> None:
    for number in range(77, 90):
        thread(tmp_path, number, "S")
    assert waits_for_io(tmp_path, 77) is False
    thread(tmp_path, 85, "D")
    assert waits_for_io(tmp_path, 77) is True


@pytest.mark.parametrize("name", ["a) D 1", "D", ") D", "x) D (y"])
def test_the_name_of_a_thread_is_not_its_state(tmp_path: Path, name: str) -> None:
    thread(tmp_path, 77, "S", name)
    assert waits_for_io(tmp_path, 77) is False


def test_a_process_that_has_ended_is_unknown(tmp_path: Path) -> None:
    assert waits_for_io(tmp_path, 77) is None
    (tmp_path / "77/task/77").mkdir(parents=True)
    assert waits_for_io(tmp_path, 77) is None, "its threads cannot be read"
    thread(tmp_path, 78, "D")
    assert waits_for_io(tmp_path, 77) is True, "a thread that ends in between is left out"


def test_this_process_does_not_wait_and_a_zombie_does_not(tmp_path: Path) -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert waits_for_io(Path("/proc"), child.pid) is False
    child.wait()
    assert waits_for_io(Path("/proc"), child.pid) is None


def test_all_processes_are_visible_if_the_kernel_threads_are(tmp_path: Path) -> None:
    assert not sees_all_processes(tmp_path)
    (tmp_path / "2").mkdir()
    (tmp_path / "2/comm").write_text("sleep\n")
    assert not sees_all_processes(tmp_path), "a container with its own processes"
    (tmp_path / "2/comm").write_text("kthreadd\n")
    assert sees_all_processes(tmp_path)
