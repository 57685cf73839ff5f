"""Restarts the exporter's unit, and finds out whether it has read its files since they changed."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from exporter.commands.probe_setup.system_files import SetupFiles
from exporter.programs.command import Runner
from exporter.runtime.clock import Clock
from exporter.runtime.errors import CommandError

_UNIT = "ssd-exporter.service"

#: Timeout of systemctl, in seconds. A restart waits until the exporter is ready.
_SYSTEMCTL_SECONDS = 90.0

#: The states of a unit without a process. Its next start reads the files.
_STOPPED = ("inactive", "failed")

_STATE, _STARTED = "ActiveState", "ExecMainStartTimestampMonotonic"


def restart(files: SetupFiles, runner: Runner) -> str:
    """Restarts the exporter, so that it reads the changed files.

    An exporter that does not run is not started. Returns what the user must do instead if the
    restart fails, as text for people; otherwise an empty text.
    """
    if not files.has_systemd:
        return (
            "systemd is not running here: restart the exporter yourself; a container needs the"
            " directory as a writable mount at the same path"
        )
    try:
        runner.run(["systemctl", "daemon-reload"], _SYSTEMCTL_SECONDS)
        runner.run(["systemctl", "try-restart", _UNIT], _SYSTEMCTL_SECONDS)
    except CommandError as e:
        return f"{e}; run: systemctl daemon-reload && systemctl restart ssd-exporter"
    return ""


def forget_drop_in(files: SetupFiles, runner: Runner) -> None:
    """Makes systemd read the drop-in after its settings were removed.

    An error is ignored, because systemd then only prints a warning about the changed file.
    """
    if files.has_systemd:
        with contextlib.suppress(CommandError):
            runner.run(["systemctl", "daemon-reload"], _SYSTEMCTL_SECONDS)


def needs_restart(files: SetupFiles, runner: Runner, clock: Clock) -> bool:
    """Returns True if the exporter runs, and was started before its files changed.

    An earlier command that was killed leaves this state. The result is also True if systemctl does
    not answer, because an additional restart is harmless. It is False without systemd.
    """
    if not files.has_systemd:
        return False
    shown = ["systemctl", "show", _UNIT, f"--property={_STATE}", f"--property={_STARTED}"]
    try:
        properties = parse_properties(runner.run(shown, _SYSTEMCTL_SECONDS))
    except CommandError:
        return True
    if properties.get(_STATE) in _STOPPED:
        return False
    microseconds = properties.get(_STARTED, "")
    if not (microseconds.isascii() and microseconds.isdigit()):
        return True
    started_at = clock.wall() - clock.monotonic() + int(microseconds) / 1e6
    return started_at <= max(_changed_at(files.config), _changed_at(files.drop_in))


def parse_properties(text: str) -> Mapping[str, str]:
    """Returns the properties that `systemctl show` printed."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, equals, value in pairs if equals}


def _changed_at(path: Path) -> float:
    """Returns the Unix time of the last change of a file; 0 if it does not exist.

    The ctime counts also if a file was moved here with an old mtime.
    """
    try:
        return os.stat(path, follow_symlinks=False).st_ctime
    except OSError:
        return 0.0
