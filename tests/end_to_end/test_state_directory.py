"""The state directory of another user, of another daemon, and with traps in place of its files."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.daemon import Daemon, command, run
from tests.end_to_end.server_process import environment
from tests.required import lacking

_NOBODY = 65534


@pytest.fixture
def foreign() -> Iterator[Path]:
    """A state directory that belongs to another user, while the tests run as root."""
    if os.geteuid() != 0:
        lacking("it takes root to give a directory away")
    # Not below tmp_path, which other users cannot enter.
    directory = Path(tempfile.mkdtemp())
    os.chown(directory, _NOBODY, _NOBODY)
    yield directory
    shutil.rmtree(directory)


_TRAPS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "link to an endless device": lambda path: path.symlink_to("/dev/zero"),
    "device": lambda path: os.mknod(path, 0o20666, os.makedev(1, 5)),
}


@pytest.mark.parametrize("trap", _TRAPS)
@pytest.mark.parametrize("words", [["check"], ["forget", "X"], ["--once"]], ids=lambda w: w[0])
def test_a_command_of_root_opens_no_trap(foreign: Path, trap: str, words: list[str]) -> None:
    """Before, it waited for ever or filled the memory."""
    for name in ("state.json", "history.sqlite"):
        _TRAPS[trap](foreign / name)
    # A command that waits for ever ends this call with TimeoutExpired.
    status, _, said = run(
        [sys.executable, "-m", "exporter", *words, f"--state.directory={foreign}"]
    )
    assert f"{foreign}/state.json cannot be read: it is a" in said
    assert "not a regular file" in said
    assert (status == 2) == (words[0] == "forget")
    assert {"state.json", "history.sqlite"} == set(os.listdir(foreign)), "nothing is created"


def test_a_daemon_of_root_refuses_the_directory_of_another_user(
    tmp_path: Path, foreign: Path
) -> None:
    status, _, said = run([*command(tmp_path), f"--state.directory={foreign}"])
    assert 2 == status
    (line,) = said.splitlines()
    assert f"the state directory {foreign} cannot be used: it belongs to user nobody" in line
    assert "--state.directory" in line
    assert [] == os.listdir(foreign)


def test_root_may_check_the_configuration_of_a_daemon_of_another_user(
    tmp_path: Path, foreign: Path
) -> None:
    argv = [*command(tmp_path), f"--state.directory={foreign}", "--config.check"]
    assert (0, "the configuration is valid\n", "") == run(argv)


def test_a_second_daemon_with_the_same_directory_is_refused(tmp_path: Path) -> None:
    with Daemon(tmp_path / "first") as first:
        argv = [*command(tmp_path), f"--state.directory={first.state}"]
        status, _, said = run(argv)
        assert 2 == status
        (line,) = said.splitlines()
        assert (
            f"another ssd-exporter (process {first.process.pid}) uses the state directory"
            f" {first.state}; stop it, or set another --state.directory"
        ) in line
        # Commands only read the directory.
        assert 0 == run([*argv, "--config.check"])[0]
        assert 0 == run([*argv, "--once"])[0]
        first.kill()
    with Daemon(tmp_path / "first") as again:
        assert again.page().value("ssd_sampler_samples_total") > 0


def test_sigterm_ends_a_daemon_whose_standard_error_is_blocked(tmp_path: Path) -> None:
    """As after `ssd-exporter 2>&1 | less`. Before, the daemon waited for ever to log its end."""
    argv = command(tmp_path, "--log.level=debug")
    reading, writing = os.pipe()
    with (
        os.fdopen(reading, "rb"),
        subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stderr=writing, env=environment()
        ) as process,
    ):
        # The daemon has installed its signal handlers when it logs its address.
        said = b""
        while b"serves http" not in said:
            said += os.read(reading, 4096)
        os.set_blocking(writing, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, b"x" * 4096)
        os.set_blocking(writing, True)
        os.close(writing)
        process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(PATIENCE_SECONDS)
