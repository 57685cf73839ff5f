"""Runs measuring commands through the real command line with real fio in a prepared directory."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from exporter.linux import mountinfo
from exporter.probe import location
from tests.duration import PATIENCE_SECONDS, wait_until
from tests.end_to_end.programs import need
from tests.end_to_end.server_process import environment
from tests.processes import run_program
from tests.required import lacking

_PATIENCE_SECONDS = 3 * PATIENCE_SECONDS

#: Others use the machine that tests run on, and it may be full.
GATE = """
[probe.gate]
host_uptime_seconds = 0
busy_ratio = 1
pressure_ratio = 1
cgroup_pressure_ratio = 1
hot_celsius = 200
worn_ratio = 10
free_bytes = 0
free_ratio = 0
guard_queue = 100000
guard_pressure_ratio = 1
"""

#: Each half a second. Each ends by its number, also on a slow disk.
SMALL = "".join(
    f"[probe.profile.{name}]\nsize_bytes = 8388608\nnumber_ios = {number}\nruntime_seconds = 90\n"
    for name, number in (("fsync", 50), ("page_read", 100), ("page_write", 25))
)


def require_drive(place: Path) -> None:
    """Skips the test if no probe may run at this place; fails it in CI."""
    mounts = mountinfo.read_process(Path("/proc"), os.getpid()).value
    mount = mountinfo.mount_containing(mounts, str(place.resolve()))
    assert mount is not None
    if why := location.unsuitable_reason(mount.fstype, copy_on_write=False):
        lacking(f"{place}: {why}")


def fios(directory: Path) -> list[int]:
    """The processes that have a file of this directory among their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                arguments = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except (OSError, IndexError):
                continue
            if f"--filename={directory}/".encode() in arguments and state != "Z":
                found.append(int(entry.name))
    return found


@dataclass(frozen=True, slots=True)
class Ended:
    status: int
    out: str
    said: str

    @property
    def complaint(self) -> str:
        """The line that says what went wrong; everything else is progress."""
        lines = [line for line in self.said.splitlines() if line.startswith("ssd-exporter: ")]
        assert len(lines) == 1, self.said
        assert "Traceback" not in self.said
        return lines[0]


class Place:
    """State, lock and probe directory of a host of its own, on the disk of this one."""

    def __init__(self, place: Path, config: str = SMALL + GATE) -> None:
        need("fio")
        require_drive(place)
        self.path = place
        self.directory = place / "probe"
        self.state = place / "state"
        self.lock = place / "root/run/lock"
        self.lock.mkdir(parents=True)
        self.state.mkdir()
        self.config = place / "config.toml"
        self.config.write_text(config)

    def argv(self, *arguments: str) -> list[str]:
        return [
            *(sys.executable, "-m", "exporter", *arguments),
            f"--config.file={self.config}",
            f"--state.directory={self.state}",
            f"--path.rootfs={self.path / 'root'}",
        ]

    def run(self, *arguments: str) -> Ended:
        """Without a terminal, and to its end."""
        ended = run_program(self.argv(*arguments), env=environment())
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def complaint(self, *arguments: str, status: int = 2) -> str:
        """Runs a command that fails with this status, and returns the line that says why."""
        ended = self.run(*arguments)
        assert status == ended.status, ended.said
        return ended.complaint

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """Without waiting for it."""
        return subprocess.Popen(
            self.argv(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )

    def on_terminal(self, *arguments: str, answer: str) -> Ended:
        """Run on a terminal and answer the question. `said` has all output."""
        leader, follower = pty.openpty()
        with subprocess.Popen(
            self.argv(*arguments),
            stdin=follower,
            stdout=subprocess.PIPE,
            stderr=follower,
            env=environment({"TERM": "dumb"}),
        ) as child:
            os.close(follower)
            said = _until(leader, "[y/N] ")
            os.write(leader, answer.encode())
            said += _rest(leader)
            assert child.stdout is not None
            out = child.stdout.read().decode()
            return Ended(child.wait(_PATIENCE_SECONDS), out, said)

    def fios(self) -> list[int]:
        return fios(self.directory)

    def await_fio(self) -> None:
        wait_until(self.fios, "the start of fio")

    def program(self, name: str, text: str) -> Path:
        """A program in the place of fio: a shell script."""
        path = self.path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path


#: In the place of fio: says that it is one, and then does `run`.
def pretending(run: str) -> str:
    return (
        'case "$*" in *--version*) echo fio-3.33; exit;; *--enghelp*) echo "Available IO engines:";'
        f' echo "	psync"; exit;; esac\n{run}'
    )


def end(child: "subprocess.Popen[str]", number: signal.Signals) -> Ended:
    child.send_signal(number)
    out, said = child.communicate(timeout=_PATIENCE_SECONDS)
    return Ended(child.returncode, out, said)


def _until(descriptor: int, words: str) -> str:
    said = ""
    until = time.monotonic() + _PATIENCE_SECONDS
    while words not in said:
        left = until - time.monotonic()
        assert left > 0, said
        if select.select([descriptor], [], [], left)[0]:
            said += os.read(descriptor, 4096).decode("utf-8", "replace")
    return said


def _rest(descriptor: int) -> str:
    said = b""
    try:
        while chunk := os.read(descriptor, 4096):
            said += chunk
    except OSError:
        # The other end is closed.
        pass
    os.close(descriptor)
    return said.decode("utf-8", "replace")
