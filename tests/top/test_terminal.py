"""The real program in a pseudo-terminal: keys, sizes, signals, and a restored terminal."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.duration import PATIENCE_SECONDS, wait_until
from tests.ports import free_ports
from tests.processes import run_program

pytestmark = pytest.mark.real

_ENTER, _LEAVE = "\x1b[?1049h", "\x1b[?1049l"


class Terminal:
    """A terminal in which `top` runs. `text` is what it has written."""

    def __init__(self, columns: int = 80, **environment: str) -> None:
        self.master, slave = pty.openpty()
        self.resize(columns, 24)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.text = ""
        port = free_ports(1)[0]
        argv = [sys.executable, "-m", "exporter", "top", "--interval", "0.2"]
        self.process = subprocess.Popen(
            [*argv, "--url", f"http://127.0.0.1:{port}"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={**os.environ, "PYTHONUTF8": "1", **environment},
        )

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def read(self) -> str:
        while select.select([self.master], [], [], 0.05)[0]:
            self.text += os.read(self.master, 1 << 16).decode("utf-8", "replace")
        return self.text

    def shows(self, pattern: str) -> None:
        """Waits until the program writes this text from now on."""
        start = len(self.text)
        wait_until(lambda: re.search(pattern, self.read()[start:]) is not None)

    def ends(self) -> int:
        """Waits for the end of the program, and returns its exit status."""
        wait_until(lambda: (self.read(), self.process.poll())[1] is not None)
        self.read()
        return int(self.process.wait(PATIENCE_SECONDS))

    def is_restored(self) -> bool:
        attributes = termios.tcgetattr(self.slave)
        return (
            attributes == self.before
            and self.text.rfind(_LEAVE) > self.text.rfind(_ENTER) >= 0
            and self.text.rfind("\x1b[?25h") > self.text.rfind("\x1b[?25l")
        )

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE_SECONDS)
        os.close(self.slave)
        os.close(self.master)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    opened = Terminal()
    try:
        opened.shows("DEVICE")
        yield opened
    finally:
        opened.close()


def test_keys_change_the_screen_and_q_ends(terminal: Terminal) -> None:
    assert termios.tcgetattr(terminal.slave) != terminal.before
    terminal.press("?")
    terminal.shows("next order")
    terminal.press("?")
    terminal.shows("DEVICE")
    terminal.press("h")
    terminal.shows("SPARE")
    terminal.press("h")
    terminal.shows("VERDICT")
    terminal.press("s")
    terminal.shows("ort: busy")
    terminal.press("p")
    terminal.shows("PAUSED")
    terminal.press("/")
    terminal.shows("filter: _")
    terminal.press("zzz\r")
    terminal.shows("none of|no drive")
    terminal.press("\x1b")
    terminal.shows("VERDICT")
    terminal.press("q")
    assert 0 == terminal.ends()
    assert terminal.is_restored()


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT], ids=lambda n: n.name
)
def test_a_signal_restores_the_terminal(terminal: Terminal, number: signal.Signals) -> None:
    terminal.process.send_signal(number)
    assert 128 + number == terminal.ends()
    assert terminal.is_restored()


def test_a_new_size_changes_the_width(terminal: Terminal) -> None:
    terminal.resize(160, 30)
    terminal.process.send_signal(signal.SIGWINCH)
    terminal.shows("BUSIEST SERVICES")


def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again() -> None:
    """A shell does the same: it waits for the stop, and sends SIGCONT."""
    opened = Terminal()
    try:
        opened.shows("DEVICE")
        # The group must not be orphaned, or the kernel ignores SIGTSTP: POSIX 11.1.4.
        stat = Path("/proc", str(opened.process.pid), "stat")
        opened.process.send_signal(signal.SIGTSTP)
        wait_until(lambda: (opened.read(), _LEAVE in opened.text)[1])
        time.sleep(0)
        assert stat.exists()
        opened.process.send_signal(signal.SIGCONT)
        start = opened.text.rfind(_LEAVE)
        wait_until(lambda: _ENTER in opened.read()[start:])
        opened.shows("DEVICE")
        opened.press("q")
        assert 0 == opened.ends()
        assert opened.is_restored()
    finally:
        opened.close()


def test_a_closed_terminal_ends_the_program() -> None:
    opened = Terminal()
    opened.shows("DEVICE")
    os.close(opened.slave)
    os.close(opened.master)
    try:
        wait_until(lambda: opened.process.poll() is not None)
    finally:
        opened.process.kill()
        opened.process.wait(PATIENCE_SECONDS)


def test_no_color_and_no_utf_8() -> None:
    opened = Terminal(NO_COLOR="1", PYTHONUTF8="0", PYTHONIOENCODING="ascii", LC_ALL="C")
    try:
        opened.shows("DEVICE")
        opened.press("q")
        opened.ends()
        assert "\x1b[1m" not in opened.text
        assert opened.text.isascii()
    finally:
        opened.close()


def _output(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    return run_program(
        [sys.executable, "-m", "exporter", "top", "--interval", "0.2", "--url", url, *arguments],
        env={**os.environ, "PYTHONUTF8": "1", **environment},
    )


def test_once_prints_a_table_without_escape_sequences() -> None:
    done = _output("--once", COLUMNS="80")
    assert (0, "") == (done.returncode, done.stderr)
    assert "DEVICE" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_without_a_terminal_it_prints_once() -> None:
    done = _output()
    assert 0 == done.returncode
    assert "DEVICE" in done.stdout


def test_json_has_stable_keys() -> None:
    done = _output("--json")
    result = json.loads(done.stdout)
    assert {
        *("host", "unix_time", "interval_seconds", "observed_seconds", "drives", "notes"),
        *("io_pressure_some_ratio", "io_pressure_full_ratio", "softirq_hottest_cpu"),
        *("softirq_ratio", "iowait_ratio"),
    } == result.keys()
    assert 0.2 == result["interval_seconds"]
    assert any("no daemon answers" in note for note in result["notes"])


@pytest.mark.parametrize("arguments", [("--interval", "60"), ("--url", "db1")])
def test_a_mistake_is_one_line(arguments: tuple[str, str]) -> None:
    done = _output(*arguments)
    assert 2 == done.returncode
    assert 1 == done.stderr.count("\n")
