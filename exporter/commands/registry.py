"""Lists the commands besides the daemon, and imports the module of the command that runs.

Each command has one module with its help text, its arguments and its code. Only the module of the
command that runs is imported. This saves memory in the daemon and the agent, and start-up time.
"""

import argparse
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter.config.settings import Settings


@dataclass(frozen=True, slots=True)
class Command:
    """The description, arguments and code of a command: `COMMAND` in each command's module.

    description: the help text.
    add_arguments: adds the command's own arguments to a parser.
    run: runs the command and returns its exit status; raises ConfigError for a mistake of the user.
    reads_settings: False if the command does not use the configuration file. It then lacks the
        flags for settings, and `run` receives the default settings.
    """

    description: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Settings, argparse.Namespace], int]
    reads_settings: bool = True


@dataclass(frozen=True, slots=True)
class ListedCommand:
    """A command as `ssd-exporter --help` lists it.

    summary: one line of help. module: the dotted name of the command's module in this package.
    """

    summary: str
    module: str

    def load(self) -> Command:
        """Imports the command's module and returns the command."""
        command: Command = importlib.import_module(f"exporter.commands.{self.module}").COMMAND
        return command


COMMANDS: Mapping[str, ListedCommand] = {
    "check": ListedCommand("show the health of every drive (also a Nagios plug-in)", "check"),
    "top": ListedCommand("show the drives live: load, latency, verdict, services", "top_command"),
    "latency": ListedCommand(
        "measure single requests: p99 and p99.9 per drive, without eBPF",
        "request_latency.latency_command",
    ),
    "read": ListedCommand(
        "show how saved output of smartctl is interpreted (for bug reports)", "read_command"
    ),
    "self-test": ListedCommand("run a drive's self-test and show the result", "self_test"),
    "forget": ListedCommand("stop reporting a removed drive as missing", "forget"),
    "merge-wear": ListedCommand("merge a wear history that was set aside back", "merge_wear"),
    "probe": ListedCommand(
        "measure the latency of a commit, a page read and a page write now", "probe_command"
    ),
    "slc": ListedCommand("measure the size of a drive's write cache and the speed after it", "slc"),
    "steady-state": ListedCommand(
        "repeat a profile until the drive is in steady state by SNIA's rule",
        "steady_state_command",
    ),
    "bench": ListedCommand(
        "benchmark block sizes, jobs and modes, with limits on bytes and time", "bench"
    ),
    "enable-probes": ListedCommand(
        "run scheduled probes: directory, setting, drop-in and a first probe",
        "probe_setup.enable_probes",
    ),
    "disable-probes": ListedCommand(
        "stop scheduled probes, and remove what enable-probes has made",
        "probe_setup.disable_probes",
    ),
    "capture": ListedCommand(
        "record this host for a bug report or a test, without serial numbers", "capture_command"
    ),
    "smart-agent": ListedCommand(
        "poll the drives for SMART data (needs privileges, uses no network)", "smart_agent"
    ),
    "help": ListedCommand("show the flags and examples of a command", "about.help_command"),
    "version": ListedCommand("show the versions that a bug report needs", "about.version_command"),
}
