"""``ssd-exporter enable-probes [DIR]``: sets up everything that scheduled probes need.

The command writes the drop-in of the unit, creates a private directory, writes the setting, runs a
first probe and restarts the exporter. A second call changes nothing. If the command is killed, the
next call completes the work: the drop-in, which is written first, contains the names of the
directories, and the start time of the unit shows whether the unit has read its files.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from exporter.commands import probe_command
from exporter.commands.common import required_state_directory, say, system_tools
from exporter.commands.probe_setup import (
    exporter_service,
    mysql_places,
    settings_text,
    system_files,
)
from exporter.commands.probe_setup.system_files import SetupFiles
from exporter.commands.registry import Command
from exporter.config.profiles import Profile
from exporter.config.settings import Settings
from exporter.linux import topology
from exporter.linux.topology import StorageRole, Topology
from exporter.measurement import session, target
from exporter.measurement.session import MEASURED, MeasurementOptions, MeasurementTools
from exporter.probe import location
from exporter.probe.budget_ledger import FILESYSTEM_FACTOR
from exporter.programs.command import Runner, SystemRunner
from exporter.report.formatting import quantity
from exporter.runtime.errors import ConfigError, ReadError

#: The configuration file that the unit reads, below the root directory.
CONFIG = "etc/ssd-exporter/config.toml"

_YEAR_SECONDS = 365 * 86_400

#: The profile of the first probe: a commit.
_FIRST_PROFILE = "fsync"

#: The unit has private directories at these paths below the root directory (PrivateTmp=).
_PRIVATE = ("tmp", "var/tmp")


@dataclass(frozen=True, slots=True)
class SetupRequest:
    """What to set up.

    directories: the directories; empty means that MySQL's filesystems are searched.
    dry_run: print what would change, and change nothing.
    """

    directories: tuple[Path, ...] = ()
    dry_run: bool = False


def run(
    settings: Settings,
    request: SetupRequest,
    files: SetupFiles,
    tools: MeasurementTools,
    *,
    runner: Runner,
    out: TextIO,
) -> int:
    """Enables scheduled probes. Returns the exit status.

    The status is 3 if the first probe in a directory did not finish. Probes are enabled in this
    case too. Otherwise it is 0.

    Raises:
        ConfigError: nothing was changed, or a file could not be written. The message says which.
    """
    state = required_state_directory(settings)
    if shutil.which(settings.path.fio) is None:
        raise ConfigError(
            f"{settings.path.fio} is not installed; probes need it",
            "install the package fio (apt install fio, dnf install fio)",
        )
    path = settings.path
    host = topology.read(path.sysfs, path.procfs, path.rootfs, configured=settings.role).value
    text = system_files.content_of(files.config)
    asked = request.directories or _found(host, settings, state, out)
    kept = settings_text.managed_directories(text) or settings_text.configured_directories(text)
    directories = tuple(dict.fromkeys((*kept, *asked)))
    devices = {each: _device(each, host, settings) for each in asked}
    for directory in asked:
        settings_text.require_plain(directory)
        system_files.require_reachable(directory, state)
    system_files.require_own_drop_in(files.drop_in)
    drop_in_before = system_files.content_of(files.drop_in)
    if system_files.removed_directories(drop_in_before):
        raise ConfigError(
            "an earlier disable-probes was interrupted",
            "complete it first: sudo ssd-exporter disable-probes",
        )
    changed_text = settings_text.with_directories(text, directories)
    drop_in = system_files.drop_in_text(directories)
    if request.dry_run:
        _show_plan(asked, files, changed_text != text, drop_in, out)
        _show_cost(devices, settings, out)
        return MEASURED
    system_files.require_writable(files)
    changes = _write(asked, state, files, changed_text, drop_in)
    for change in changes:
        say(out, change)
    if not changes and exporter_service.needs_restart(files, runner, tools.clock):
        say(out, "the files are complete, but ssd-exporter was not restarted after they changed")
    elif not changes:
        say(out, f"probes are enabled already in {', '.join(map(str, directories))}")
        return MEASURED
    _show_cost(devices, settings, out)
    # Before the restart: only one probe runs on a host, and the daemon may start one soon.
    try:
        statuses = [_first_probe(settings, directory, tools, out) for directory in asked]
    finally:
        # After Ctrl-C too, because the files are complete.
        say(out, exporter_service.restart(files, runner) or "restarted ssd-exporter")
    say(out, "Probes are enabled. To undo this: sudo ssd-exporter disable-probes")
    return max(statuses, default=MEASURED)


def yearly_bytes(profiles: Sequence[Profile], budget_bytes_per_day: int) -> int:
    """Returns the largest number of bytes that these profiles write to one drive in a year.

    The number includes the writes of the filesystem itself. It is at most the daily budget for each
    day of the year.

    budget_bytes_per_day: the bytes that scheduled probes may write to a drive in a day.
    """
    scheduled = (profile for profile in profiles if profile.interval_seconds)
    written = sum(
        FILESYSTEM_FACTOR * profile.written_bytes_at_most * _YEAR_SECONDS / profile.interval_seconds
        for profile in scheduled
        if profile.interval_seconds
    )
    return int(min(written, 365 * budget_bytes_per_day))


def _write(
    asked: Sequence[Path], state: Path, files: SetupFiles, config: str, drop_in: str
) -> list[str]:
    """Writes the files and creates the directories. Returns what changed, as texts for people."""
    before = system_files.content_of(files.drop_in)
    ours = system_files.granted_directories(before)
    changes = (
        [f"wrote {files.drop_in}"] if system_files.replace_content(files.drop_in, drop_in) else []
    )
    try:
        changes += [
            f"created {directory}"
            for directory in asked
            if system_files.create_directory(directory, state, is_ours=directory in ours)
        ]
    except ConfigError:
        system_files.replace_content(files.drop_in, before)
        raise
    if system_files.replace_content(files.config, config):
        changes.append(f"wrote {files.config}")
    return changes


def _found(host: Topology, settings: Settings, state: Path, out: TextIO) -> tuple[Path, ...]:
    """Returns the places beside the data of MySQL servers that no user started.

    Any user can start a process called mysqld with any path. So its paths are not used.
    """
    servers = {server.pid: server for server in host.servers}

    def refusal(role: StorageRole, place: Path) -> str:
        try:
            settings_text.require_plain(place)
            # The administrator chose the directories of the settings.
            if role.pid is not None:
                uid = servers[role.pid].uid
                system_files.require_owners(place, {0} if uid is None else {0, uid})
            system_files.require_reachable(place, state)
            _device(place, host, settings)
        except ConfigError as e:
            return str(e)
        return ""

    of_users = [server.pid for server in host.servers if server.is_of_user]
    roles = [role for role in host.roles if role.pid not in of_users]
    for pid in of_users:
        say(out, f"process {pid} is not used: a user started this server in a session or by cron")
    places = mysql_places.mysql_places(roles, os.path.isdir, refusal)
    for problem in places.problems:
        say(out, problem)
    if not places.directories:
        raise ConfigError(
            "no filesystem of a running MySQL server has room for a probe directory"
            if places.problems or of_users
            else "no running MySQL server was found",
            "name a new directory on the filesystem of the database, such as: sudo ssd-exporter"
            " enable-probes /srv/data/ssd-probe",
        )
    return places.directories


def _device(directory: Path, host: Topology, settings: Settings) -> str:
    """Returns the name of the device that stores a directory.

    Raises:
        ConfigError: no probe may run in the directory.
    """
    if any(directory.is_relative_to(settings.path.rootfs / private) for private in _PRIVATE):
        raise ConfigError(
            f"{directory} cannot be used: the unit has a private /tmp and /var/tmp",
            "name another directory",
        )
    if not directory.parent.is_dir():
        raise ConfigError(f"{directory.parent} is not a directory", "create it, or name another")
    hint = "name a directory on the filesystem of the database"
    try:
        place = location.locate(directory, host, settings.path.procfs)
    except ReadError as e:
        raise ConfigError(f"{directory} cannot be used: {e}", hint) from e
    if why := place.unsuitable(copy_on_write=settings.probe.copy_on_write):
        raise ConfigError(f"{directory} cannot be used: {why}", hint)
    return place.device


def _show_plan(
    asked: Sequence[Path], files: SetupFiles, writes_config: bool, drop_in: str, out: TextIO
) -> None:
    for directory in asked:
        if not directory.exists():
            say(out, f"would create {directory} (mode 0700, for the exporter's user)")
    if writes_config:
        say(out, f"would set probe.directory in {files.config}")
    if system_files.content_of(files.drop_in) != drop_in:
        say(out, f"would write {files.drop_in}:")
        for line in drop_in.splitlines():
            say(out, f"    {line}".rstrip())
    restart = "restart ssd-exporter" if files.has_systemd else "ask you to restart the exporter"
    say(out, f"would run a first probe and {restart}; nothing was changed")


def _show_cost(devices: dict[Path, str], settings: Settings, out: TextIO) -> None:
    scheduled = target.select_profiles(None, settings)
    names = ", ".join(profile.name for profile in scheduled)
    cost = quantity(yearly_bytes(scheduled, settings.probe.budget_bytes_per_day), "B")
    for directory, device in devices.items():
        say(out, f"{names} write at most {cost} a year to {device} ({directory})")


def _first_probe(settings: Settings, directory: Path, tools: MeasurementTools, out: TextIO) -> int:
    options = MeasurementOptions(directory, yes=True)
    try:
        status = session.status(
            lambda: probe_command.run(settings, options, _FIRST_PROFILE, tools, out),
            tools.streams.messages,
        )
    except ConfigError as e:
        say(out, f"the first probe did not run: {e}; the daemon tries again")
        status = session.NOT_MEASURED
    return MEASURED if status == session.JUDGED_BAD else status


def _add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "directory",
        nargs="*",
        type=Path,
        metavar="DIR",
        help="new directory on the filesystem to probe; default: one beside the data directory of"
        " each running MySQL server that no user started in a session",
    )
    p.add_argument(
        "--dry-run", dest="dry_run", action="store_true", help="show the changes, and make none"
    )
    p.add_argument("--fio.path", dest="path.fio", metavar="PROGRAM", help="fio program to run")


def setup_files(settings: Settings, config_file: str | None) -> SetupFiles:
    """Returns the files of this host. config_file: the value of --config.file."""
    root = settings.path.rootfs
    return SetupFiles(root, root / CONFIG if config_file is None else Path(config_file))


def _run_command(settings: Settings, arguments: argparse.Namespace) -> int:
    if settings.collector["probe"] is False:
        raise ConfigError("the collector probe is disabled", "enable it: [collector] probe = true")
    directories = tuple(Path(os.path.abspath(each)) for each in arguments.directory)
    return run(
        settings,
        SetupRequest(directories, arguments.dry_run),
        setup_files(settings, arguments.config_file),
        system_tools(settings),
        runner=SystemRunner(),
        out=sys.stdout,
    )


COMMAND = Command(
    "Enable scheduled probes in one step. The command creates a private directory on each"
    " filesystem of MySQL, or the given directories, sets probe.directory, permits the unit to"
    " write there, runs a first probe, restarts the exporter, and shows how much probes write in a"
    " year. What is set up already is not changed. Run it as root. Exit status 0: enabled, 2:"
    " refused, 3: enabled, but the first probe did not run.",
    _add_arguments,
    _run_command,
)
