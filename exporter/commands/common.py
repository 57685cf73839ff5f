"""Command-line arguments, and access to the system, that several commands share."""

import argparse
import os
import sys
from pathlib import Path
from typing import TextIO

from exporter.config.settings import Settings
from exporter.measurement.admission import Streams
from exporter.measurement.session import MeasurementOptions, MeasurementTools
from exporter.probe.fio import RegionFio, SystemFio
from exporter.programs.command import SystemRunner
from exporter.runtime.clock import SystemClock
from exporter.runtime.errors import ConfigError
from exporter.runtime.printable import printable
from exporter.runtime.state import existing_directory


def add_measurement_arguments(p: argparse.ArgumentParser) -> None:
    """Adds the arguments that all measuring commands share.

    Each command adds its own argument for the directory.
    """
    p.add_argument("--json", action="store_true", help="print JSON with stable keys")
    p.add_argument("--html", type=Path, metavar="FILE", help="also write an HTML report to FILE")
    p.add_argument("--yes", action="store_true", help="consent to the writes, and do not ask")
    p.add_argument(
        "--anyway", action="store_true", help="measure even if the device or MySQL is busy"
    )
    p.add_argument("--fio.path", dest="path.fio", metavar="PROGRAM", help="fio program to run")


def measurement_options(arguments: argparse.Namespace) -> MeasurementOptions:
    return MeasurementOptions(
        arguments.directory,
        yes=arguments.yes,
        anyway=arguments.anyway,
        as_json=arguments.json,
        html=arguments.html,
    )


def system_tools(settings: Settings, *, has_regions: bool = False) -> MeasurementTools:
    """Returns the clock, fio, the environment and the streams of this system for a measurement.

    has_regions: whether each job of a sequential profile uses its own part of the file.
    """
    clock = SystemClock()
    fio = RegionFio if has_regions else SystemFio
    return MeasurementTools(
        clock,
        lambda: fio(settings.path.fio, SystemRunner(), clock),
        dict(os.environ),
        Streams(sys.stdin, sys.stderr),
    )


def say(out: TextIO, words: str) -> None:
    """Writes a printable line and flushes the stream."""
    out.write(f"{printable(words)}\n")
    out.flush()


def required_state_directory(settings: Settings) -> Path:
    """Returns the state directory of the daemon.

    Raises:
        ConfigError: the directory does not exist.
    """
    directory = existing_directory(settings.state.directory, dict(os.environ))
    if directory is None:
        raise ConfigError(
            "no state directory found", "pass the daemon's directory as --state.directory"
        )
    return directory


def add_directory(p: argparse.ArgumentParser) -> None:
    """Adds the optional argument DIR of the commands that create a directory to measure in."""
    p.add_argument(
        "directory",
        nargs="?",
        type=Path,
        metavar="DIR",
        help="directory on the file system to measure; if it does not exist, it is created and"
        " removed at the end; default: probe.directory of the configuration",
    )
