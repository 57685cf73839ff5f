"""``ssd-exporter capture DIR``: copies to DIR the files of this host that the exporter reads.

It also saves the output of smartctl, and replaces serial numbers. The copy is for a bug report or a
test.
"""

import argparse
import sys
from pathlib import Path

from exporter.capture import host_capture
from exporter.commands import smart_reader
from exporter.commands.registry import Command
from exporter.config.settings import Settings


def _add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "directory",
        type=Path,
        metavar="DIR",
        help="directory to write to; it must be empty or not exist",
    )


def _run(settings: Settings, arguments: argparse.Namespace) -> int:
    reader = smart_reader.system_reader(settings)
    reader.read()
    return host_capture.run(settings.path, reader.outputs(), arguments.directory, sys.stdout)


COMMAND = Command(
    "Write the kernel files that the exporter reads, and the output of smartctl, to a directory, to"
    " report a bug. The command replaces serial numbers and WWNs.",
    _add_arguments,
    _run,
)
