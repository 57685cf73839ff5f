"""``ssd-exporter help [COMMAND]``: prints the text of ``ssd-exporter [COMMAND] --help``."""

import argparse
import sys

from exporter.commands.registry import Command
from exporter.config.settings import Settings


def _add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "command",
        nargs="?",
        metavar="COMMAND",
        help="command to explain; without it: all commands, and the flags of the daemon",
    )


def _run(_settings: Settings, arguments: argparse.Namespace) -> int:
    # Only exporter.cli can build the parsers, so it passes the function that returns the text.
    sys.stdout.write(arguments.help_text(arguments.command))
    return 0


COMMAND = Command(
    "Print the flags and examples of a command.",
    _add_arguments,
    _run,
    reads_settings=False,
)
