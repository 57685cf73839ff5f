"""`enable-probes` and `disable-probes`, killed with SIGKILL before each change of the filesystem.

A stand-in for systemctl has a unit that reads its files when it is restarted, as systemd does.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.commands.probe_setup.exporter_service import parse_properties
from exporter.commands.probe_setup.settings_text import MARK
from exporter.commands.probe_setup.system_files import removal_text
from tests.commands.measured import Place
from tests.end_to_end.server_process import environment
from tests.processes import run_program

#: Runs the command line, and kills itself before the change with the number of the first argument.
#: Python reports each change before it happens (audit events).
KILLED = """
import os, signal, sys
left, kept = int(sys.argv.pop(1)), sys.argv.pop(1)
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chown", "os.posix_spawn")
def count(event, values):
    global left
    what = repr(values)
    # Compiled modules and the lock of the first probe are not part of the setup.
    if event in CHANGES and "__pycache__" not in what and kept not in what:
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
from exporter.cli import main
sys.exit(main())
"""

#: The gate refuses the first probe, which has tests of its own. It would take some seconds.
NO_PROBE = "[probe.gate]\nfree_bytes = 1000000000000000\n"
ENABLED_WITHOUT_PROBE = 3

#: What the unit has read at its last start is in the directory of the stand-in.
SYSTEMCTL = """#!/bin/sh
here={here}
case "$1" in
daemon-reload) cat {drop_in} > $here/loaded 2>/dev/null || : > $here/loaded ;;
try-restart)
    cp $here/loaded $here/running.drop-in
    cp {config} $here/running.config
    {python} -c 'import time; print(int(time.monotonic() * 1e6))' > $here/started ;;
show)
    echo ActiveState=active
    echo ExecMainStartTimestampMonotonic=$(cat $here/started) ;;
esac
"""


class Unit:
    """A host where systemd runs."""

    def __init__(self, path: Path) -> None:
        self.place = Place(path, NO_PROBE)
        self.drop_in = path / "root/etc/systemd/system/ssd-exporter.service.d/probe.conf"
        self.directory = path / "new-probe"
        self._bin = path / "bin"
        self._bin.mkdir()
        (path / "root/run/systemd/system").mkdir(parents=True)
        self.drop_in.parent.mkdir(parents=True)
        program = self._bin / "systemctl"
        program.write_text(
            SYSTEMCTL.format(
                here=self._bin,
                drop_in=self.drop_in,
                config=self.place.config,
                python=sys.executable,
            )
        )
        program.chmod(0o755)
        for command in ("daemon-reload", "try-restart"):
            subprocess.run([program, command], check=True)
        self._plain = self.place.config.read_text()

    def run(self, *arguments: str, killed_before: int = 0) -> tuple[int, str]:
        """Returns the exit status, and what the command printed."""
        argv = self.place.argv(*arguments)[3:]
        head = [sys.executable, "-c", KILLED, str(killed_before), str(self.place.state)]
        path = f"{self._bin}:{os.environ['PATH']}"
        done = run_program([*head, *argv], env=environment({"PATH": path}))
        return done.returncode, done.stdout + done.stderr

    def enable(self, *, killed_before: int = 0) -> tuple[int, str]:
        return self.run("enable-probes", str(self.directory), killed_before=killed_before)

    def disable(self, *, killed_before: int = 0) -> tuple[int, str]:
        return self.run("disable-probes", killed_before=killed_before)

    def running(self) -> tuple[bool, bool]:
        """True if the running unit has the setting, and if it may write to the directory."""
        config = (self._bin / "running.config").read_text()
        drop_in = (self._bin / "running.drop-in").read_text()
        return (
            f'directory = ["{self.directory}"]  {MARK}' in config,
            f"ReadWritePaths=-{self.directory}\n" in drop_in,
        )

    def is_enabled(self) -> bool:
        """True if files, directory and the running unit are all as `enable-probes` leaves them."""
        return self.directory.is_dir() and self.drop_in.exists() and self.running() == (True, True)

    def is_clean(self) -> bool:
        """True if nothing of `enable-probes` is left."""
        return (
            not self.directory.exists()
            and not self.drop_in.exists()
            and self.place.config.read_text() == self._plain
            and self.running() == (False, False)
        )


def steps() -> Iterator[int]:
    return iter(range(1, 40))


@pytest.mark.real
def test_the_next_enable_probes_completes_one_that_was_killed(tmp_path: Path) -> None:
    for step in steps():
        (tmp_path / str(step)).mkdir()
        unit = Unit(tmp_path / str(step))
        status, said = unit.enable(killed_before=step)
        if status != -signal.SIGKILL:
            assert step > 3, said
            break
        status, said = unit.enable()
        assert (ENABLED_WITHOUT_PROBE, True) == (status, unit.is_enabled()), (
            f"killed before change {step}: {said}"
        )
        assert "restarted ssd-exporter" in said
    assert "enabled already" in unit.enable()[1]
    assert unit.disable()[0] == 0
    assert unit.is_clean()


@pytest.mark.real
def test_disable_probes_undoes_an_enable_probes_that_was_killed(tmp_path: Path) -> None:
    for step in steps():
        (tmp_path / str(step)).mkdir()
        unit = Unit(tmp_path / str(step))
        if unit.enable(killed_before=step)[0] != -signal.SIGKILL:
            break
        status, said = unit.disable()
        assert (0, True) == (status, unit.is_clean()), f"killed before change {step}: {said}"


@pytest.mark.real
def test_the_next_disable_probes_completes_one_that_was_killed(tmp_path: Path) -> None:
    unit = Unit(tmp_path)
    for step in steps():
        assert unit.enable()[0] == ENABLED_WITHOUT_PROBE
        assert unit.is_enabled()
        status, said = unit.disable(killed_before=step)
        if status != -signal.SIGKILL:
            assert step > 3, said
            break
        status, said = unit.disable()
        assert (0, True) == (status, unit.is_clean()), f"killed before change {step}: {said}"
    assert unit.is_clean()


@pytest.mark.real
def test_an_interrupted_disable_probes_is_completed_before_probes_are_enabled(
    tmp_path: Path,
) -> None:
    unit = Unit(tmp_path)
    unit.drop_in.write_text(removal_text([unit.directory]))
    status, said = unit.enable()
    assert (2, True) == (status, "sudo ssd-exporter disable-probes" in said), said


def test_properties_of_a_unit_are_parsed() -> None:
    text = "ActiveState=active\n\nExecMainStartTimestampMonotonic=12\nEnvironment=A=b\nx\n"
    expected = {
        "ActiveState": "active",
        "ExecMainStartTimestampMonotonic": "12",
        "Environment": "A=b",
    }
    assert expected == parse_properties(text)
