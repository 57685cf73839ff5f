"""``ssd-exporter version``: prints the versions that a bug report needs, and the address."""

import argparse
import os
import platform
import sys

from exporter import ADDRESS, __version__
from exporter.commands.registry import Command
from exporter.config.settings import Settings
from exporter.programs import command
from exporter.programs.command import Runner, SystemRunner


def text(settings: Settings, runner: Runner) -> str:
    """Returns the lines that the command prints.

    A program that is not installed, or that prints no version, has the version "not found".
    """
    system = os.uname()
    programs = (("smartctl", settings.path.smartctl), ("fio", settings.path.fio))
    versions = [(name, command.version(runner, program)) for name, program in programs]
    return "\n".join(
        (
            f"ssd-exporter {__version__}",
            f"project   {ADDRESS}",
            f"Python    {platform.python_version()}, {sys.executable}",
            f"kernel    {system.sysname} {system.release}, {system.machine}",
            *(f"{name:<9} {version or 'not found'}" for name, version in versions),
            "",
        )
    )


def _add_arguments(_p: argparse.ArgumentParser) -> None:
    pass


def _run(settings: Settings, _arguments: argparse.Namespace) -> int:
    sys.stdout.write(text(settings, SystemRunner()))
    return 0


COMMAND = Command(
    "Print the versions of ssd-exporter, Python, the kernel, smartctl and fio, and the address of"
    " the project, for a bug report.",
    _add_arguments,
    _run,
)
