"""``ssd-exporter disable-probes``: stops scheduled probes, and undoes `enable-probes`.

The drop-in is changed first and removed last. In between it contains the names of the directories.
If the command is killed, the next call reads them and completes the work.
"""

import argparse
import sys
from typing import TextIO

from exporter.commands.common import say
from exporter.commands.probe_setup import exporter_service, settings_text, system_files
from exporter.commands.probe_setup.enable_probes import setup_files
from exporter.commands.probe_setup.system_files import SetupFiles
from exporter.commands.registry import Command
from exporter.config.settings import Settings
from exporter.programs.command import Runner, SystemRunner
from exporter.runtime.errors import ConfigError


def run(files: SetupFiles, runner: Runner, out: TextIO, *, dry_run: bool) -> int:
    """Disables scheduled probes. Returns the exit status 0.

    The setting, the drop-in and the directories of `enable-probes` are removed. The record of
    written bytes is kept, because the wear of the drive remains.

    dry_run: print what would change, and change nothing.

    Raises:
        ConfigError: somebody has set the directory or written the drop-in by hand, or a file cannot
            be written.
    """
    text = system_files.content_of(files.config)
    remaining = settings_text.without_directories(text)
    if by_hand := settings_text.configured_directories(remaining):
        raise ConfigError(
            f"probe.directory = {', '.join(map(str, by_hand))} was not set by enable-probes",
            f"remove it from {files.config}, and restart ssd-exporter",
        )
    system_files.require_own_drop_in(files.drop_in)
    drop_in = system_files.content_of(files.drop_in)
    directories = tuple(
        dict.fromkeys(
            (
                *settings_text.managed_directories(text),
                *system_files.granted_directories(drop_in),
                *system_files.removed_directories(drop_in),
            )
        )
    )
    if not directories and not drop_in:
        say(out, "probes are not enabled")
        return 0
    if dry_run:
        for directory in directories:
            say(out, f"would remove {directory} with its probe file")
        say(out, f"would remove the setting from {files.config}")
        say(out, f"would remove {files.drop_in}; nothing was changed")
        return 0
    system_files.require_writable(files)
    system_files.replace_content(files.drop_in, system_files.removal_text(directories))
    if system_files.replace_content(files.config, remaining):
        say(out, f"removed probe.directory from {files.config}")
    # A running probe ends with the daemon, so its file can be removed afterwards.
    problem = exporter_service.restart(files, runner)
    say(out, problem or "restarted ssd-exporter")
    for directory in directories:
        say(out, system_files.remove_directory(directory) or f"removed {directory}")
    if problem and files.has_systemd:
        say(out, "Probes end when ssd-exporter is restarted. Then run this command again.")
        return 0
    if system_files.replace_content(files.drop_in, ""):
        say(out, f"removed {files.drop_in}")
    exporter_service.forget_drop_in(files, runner)
    say(out, "Probes are disabled.")
    return 0


def _add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--dry-run", dest="dry_run", action="store_true", help="show the changes, and make none"
    )


def _run_command(settings: Settings, arguments: argparse.Namespace) -> int:
    files = setup_files(settings, arguments.config_file)
    return run(files, SystemRunner(), sys.stdout, dry_run=arguments.dry_run)


COMMAND = Command(
    "Stop scheduled probes, and undo enable-probes: the command removes the setting, the drop-in of"
    " the unit and the probe directories, and restarts the exporter. Settings that were written by"
    " hand stay. Run it as root. Exit status 0: disabled, 2: refused.",
    _add_arguments,
    _run_command,
)
