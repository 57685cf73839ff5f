"""Runs agent and daemon as the package does: two units with their own users and directories.

The command lines, environments, users, directories and modes are read from `systemd/*.service`. If
the tests run as root, the daemon runs as another user, provided that this user can read the code
and a Python of the same version.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import exporter
from tests.duration import PATIENCE_SECONDS, ahead_of_other_work
from tests.end_to_end.agent import Agent
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.server_process import ServerProcess, environment
from tests.processes import run_program
from tests.unit_file import UnitFile

#: User and group of the daemon. No account has them, so that they own nothing else.
_USER = 64_501

_CHECK_SECONDS = PATIENCE_SECONDS

#: The shortest intervals that the settings accept, and a short timeout, so that a hanging drive is
#: detected soon. A healthy drive must answer within it on a busy machine, too.
SETTINGS = """\
[survey]
interval_seconds = 5
[smart]
nvme_interval_seconds = 10
interval_seconds = 10
timeout_seconds = 5
rescan_seconds = 60
max_age_intervals = 1
"""


class _Agent(Agent):
    def __init__(self, argv: list[str], log: Path, documents: Path, config: Path) -> None:
        ServerProcess.__init__(self, argv, log)
        self.documents, self.config = documents, config


class _Daemon(Daemon):
    def __init__(
        self, argv: list[str], log: Path, state: Path, config: Path, more: Mapping[str, str]
    ) -> None:
        ServerProcess.__init__(self, argv, log, more)
        self.state, self.config = state, config


class Drives(Protocol):
    """The simulated drives of a host."""

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of a daemon or an agent for this host."""


DrivesT = TypeVar("DrivesT", bound=Drives)


class TwoUnits(Generic[DrivesT]):
    """A context manager that starts both units and stops them at its end.

    root: a directory for their files. It becomes readable for all users.
    drives: the drives of the host.
    settings: the configuration of both units, which ends with the section [smart].
    agent_is_ahead: the agent and its smartctl run ahead of other work. The agent lowers its own
        priority, and on a busy machine a healthy drive could exceed the short timeout of SETTINGS.
    """

    def __init__(
        self, root: Path, drives: DrivesT, settings: str = SETTINGS, *, agent_is_ahead: bool = False
    ) -> None:
        root.chmod(0o755)
        exporter_unit, agent_unit = UnitFile.read("ssd-exporter"), UnitFile.read("ssd-smart-agent")
        python = _python_of_all_users() if os.geteuid() == 0 else None
        self.is_separate = python is not None
        self._user = _USER if python else os.geteuid()
        self._group = _USER if python else os.getegid()
        self._python = python or sys.executable
        self._agent_unit = agent_unit
        self._agent_is_ahead = agent_is_ahead
        self.drives = drives
        self.documents = root / "run" / agent_unit.one("RuntimeDirectory")
        self.state = root / "var/lib" / exporter_unit.one("StateDirectory")
        for directory in (self.documents, self.state):
            directory.parent.mkdir(parents=True)
        self.state.mkdir(exporter_unit.mode("StateDirectoryMode"))
        self.give(self.state)
        self.config = root / "config.toml"
        # With the privileges of root, the daemon would query the drives without an agent.
        source = "directory" if os.geteuid() == 0 and not self.is_separate else "auto"
        more = f'directory = "{self.documents}"\nsource = "{source}"\n'
        self.config.write_text(settings + more)
        self._flags = (*self.drives.flags, f"--state.directory={self.state}")
        flags = {
            "ARGS": (*self._flags, "--web.listen-address=127.0.0.1:0"),
            "AGENT_ARGS": self.drives.flags,
        }
        self.agent = _Agent(
            [*self._as(agent_unit), *agent_unit.arguments(self.config, flags)],
            root / "agent.log",
            self.documents,
            self.config,
        )
        self.daemon = _Daemon(
            [*self._as(exporter_unit), *exporter_unit.arguments(self.config, flags)],
            root / "daemon.log",
            self.state,
            self.config,
            exporter_unit.environment(),
        )

    def give(self, directory: Path) -> None:
        """Makes the user of the daemon the owner of a directory."""
        os.chown(directory, self._user, self._group)

    def __enter__(self) -> "TwoUnits[DrivesT]":
        self.start_agent()
        self.daemon.__enter__()
        return self

    def __exit__(self, *_error: object) -> None:
        for unit in (self.daemon, self.agent):
            if unit.process.poll() is None:
                unit.process.send_signal(signal.SIGCONT)
                unit.stop()

    def start_agent(self) -> None:
        """Starts the agent with its RuntimeDirectory= and waits until it is ready."""
        if not self.documents.exists():
            self.documents.mkdir()
            self.documents.chmod(self._agent_unit.mode("RuntimeDirectoryMode"))
            os.chown(self.documents, os.geteuid(), self._group)
        with ahead_of_other_work() if self._agent_is_ahead else nullcontext():
            self.agent.launch_and_await_ready()

    def stop_agent(self) -> None:
        """Stops the agent, as `systemctl stop` does. Its RuntimeDirectory= is removed."""
        assert self._agent_unit.one("RuntimeDirectoryPreserve") == "restart"
        assert 0 == self.agent.stop()
        shutil.rmtree(self.documents)

    def restart_agent(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Ends the agent with a signal and starts it again. Its RuntimeDirectory= is kept."""
        self.agent.process.send_signal(number)
        self.agent.process.wait(_CHECK_SECONDS)
        self.start_agent()

    def check(self) -> dict[str, list[str]]:
        """Returns what `ssd-exporter check` reports, as "critical: ...", by serial number."""
        done = self.command("check", "--json")
        return {
            row["serial"] or row["device"]: [f"{p['state']}: {p['text']}" for p in row["problems"]]
            for row in json.loads(done.stdout)["drives"]
        }

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Runs a command of the exporter as the user of the tests, with the units' settings."""
        argv = [*_launcher(sys.executable), words[0], f"--config.file={self.config}"]
        return run_program([*argv, *self._flags, *words[1:]], env=environment())

    def _as(self, unit: UnitFile) -> list[str]:
        """Returns the command that runs the exporter as the user and group of a unit."""
        mask = ["sh", "-c", f'umask {unit.one("UMask")}; exec "$@"', "sh"]
        if not self.is_separate:
            return [*mask, *_launcher(sys.executable)]
        user = 0 if unit.one("User") == "root" else self._user
        who = [f"--reuid={user}", f"--regid={self._group}", "--clear-groups"]
        python = sys.executable if user == 0 else self._python
        return [*mask, "setpriv", *who, *_launcher(python)]


def _launcher(python: str) -> tuple[str, ...]:
    """As /usr/bin/ssd-exporter of the packages starts Python (packaging/install.sh)."""
    places = [str(Path(exporter.__file__).parents[1]), sysconfig.get_path("purelib")]
    code = f"import sys; sys.path += {places!r}; from exporter.cli import main; sys.exit(main())"
    return (python, "-I", "-S", "-c", code)


def _python_of_all_users() -> str | None:
    """Returns a Python of this version that every user can run; None if there is none.

    Every user must also be able to read the code and the libraries.
    """
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    code = Path(exporter.__file__).resolve(), Path(sysconfig.get_path("purelib")).resolve()
    if shutil.which("setpriv") is None or not all(map(_is_readable_for_all, code)):
        return None
    for path in (sys.executable, f"/usr/local/bin/{name}", f"/usr/bin/{name}"):
        if _is_readable_for_all(Path(path).resolve()):
            return path
    return None


def _is_readable_for_all(path: Path) -> bool:
    return path.exists() and all(
        place.stat().st_mode & (0o001 if place.is_dir() else 0o004)
        for place in (path, *path.parents)
    )
