"""The commands besides the daemon: their arguments, and where each is carried out.

What a command needs is imported when it runs: `--help` and the agent need next to nothing.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.commands import measuring_commands
from exporter.config import Settings
from exporter.errors import ConfigError

if TYPE_CHECKING:
    from exporter.agent import AgentSettings
    from exporter.commands.smart_reader import SmartReader


@dataclass(frozen=True, slots=True)
class Command:
    """One command; `run` returns the exit status and may raise ConfigError."""

    summary: str
    description: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Settings, argparse.Namespace], int]


def _agent_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--config.check", dest="config_check", action="store_true", help="check them and exit"
    )


def _smart_agent(chosen: Settings, arguments: argparse.Namespace) -> int:
    from exporter import agent  # noqa: PLC0415

    if arguments.config_check:
        sys.stdout.write("the configuration is good\n")
        return 0
    agent.run(_agent_settings(chosen), lambda: _agent_settings(arguments.read_settings()))
    return 0


def _agent_settings(chosen: Settings) -> "AgentSettings":
    from exporter.agent import AgentSettings  # noqa: PLC0415
    from exporter.smart import polling_plan  # noqa: PLC0415

    return AgentSettings(
        polling_plan.of(chosen),
        chosen.smart.directory,
        sysfs=chosen.path.sysfs,
        root=chosen.path.rootfs,
        log_level=chosen.log.level,
        log_format=chosen.log.format,
    )


def _check_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument("--json", action="store_true", help="for programs; the keys stay")
    p.add_argument(
        "--second-opinion",
        dest="second_opinion",
        action="store_true",
        help="have pySMART read the same output too, and print where the two differ",
    )


def _check(chosen: Settings, arguments: argparse.Namespace) -> int:
    from exporter.commands import check, pysmart_comparison  # noqa: PLC0415
    from exporter.programs.command import SystemRunner  # noqa: PLC0415

    asked = _asked(chosen)
    drives = asked.ask()
    status = check.run(drives, as_json=arguments.json, out=sys.stdout)
    if arguments.second_opinion:
        pysmart_comparison.run(
            list(asked.documents.values()), asked.program, SystemRunner(), sys.stdout
        )
    return status


def _capture_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument("directory", type=Path, metavar="DIR", help="a new or empty directory")


def _capture(chosen: Settings, arguments: argparse.Namespace) -> int:
    from exporter.capture import host_capture  # noqa: PLC0415

    asked = _asked(chosen)
    asked.ask()
    return host_capture.run(chosen.path, asked.outputs(), arguments.directory, sys.stdout)


def _asked(chosen: Settings) -> "SmartReader":
    from exporter.clock import SystemClock  # noqa: PLC0415
    from exporter.commands.smart_reader import SmartReader  # noqa: PLC0415
    from exporter.programs.children import SystemChildren  # noqa: PLC0415
    from exporter.smart.wear_history import WearHistory  # noqa: PLC0415
    from exporter.state import StateFile, existing_directory  # noqa: PLC0415

    clock = SystemClock()
    state = existing_directory(chosen.state.directory, dict(os.environ))
    history = state / "history.sqlite" if state else None
    # Not history.exists(): that raises where the directory may not be entered.
    is_kept = history is not None and os.path.exists(history)
    return SmartReader(
        chosen,
        clock,
        lambda: SystemChildren(clock),
        kept=StateFile(state).load_read_only() if state else {},
        history=(lambda: WearHistory.open(history, read_only=True))
        if history and is_kept
        else None,
        progress=_progress,
    )


def _progress(answered: int) -> None:
    # For people who wait; Nagios takes the first line for the verdict.
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[Kasking the drives: {answered} have answered\r")
        sys.stderr.flush()


def _self_test_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument("device", metavar="DEVICE", help="/dev/sda, nvme0, or bus/0:megaraid,3")
    p.add_argument("kind", metavar="KIND", choices=("short", "long", "abort"), help="%(choices)s")
    p.add_argument("--type", default="", metavar="TYPE", help="smartctl's -d, where it is needed")


def _self_test(chosen: Settings, arguments: argparse.Namespace) -> int:
    from exporter.clock import SystemClock  # noqa: PLC0415
    from exporter.commands import self_test  # noqa: PLC0415
    from exporter.programs.command import SystemRunner  # noqa: PLC0415

    return self_test.run(
        arguments.device,
        arguments.kind,
        smartctl=chosen.path.smartctl,
        runner=SystemRunner(),
        clock=SystemClock(),
        out=sys.stdout,
        device_type=arguments.type,
    )


def _forget_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument("serial", metavar="SERIAL", help="the drive's serial number, or its WWN")


def _forget(chosen: Settings, arguments: argparse.Namespace) -> int:
    from exporter.commands import forget  # noqa: PLC0415
    from exporter.state import StateFile, existing_directory  # noqa: PLC0415

    directory = existing_directory(chosen.state.directory, dict(os.environ))
    if directory is None:
        raise ConfigError("no state directory is found", "give the daemon's as --state.directory")
    kept = StateFile(directory).load_read_only()
    return forget.run(arguments.serial, directory, kept.get("inventory"), sys.stdout)


COMMANDS: Mapping[str, Command] = {
    "check": Command(
        "how every drive fares, for people and for Nagios",
        "Ask every drive once, or take the agent's word, and print a table. Exit status 0: all is"
        " well, 1: a warning, 2: critical, or a mistake in the configuration, 3: not known.",
        _check_arguments,
        _check,
    ),
    "self-test": Command(
        "have a drive test itself, and wait for the result",
        "Start a drive's self-test and show it to its end, or abort the one that runs. Exit"
        " status 0: passed, 1: failed, 3: not known.",
        _self_test_arguments,
        _self_test,
    ),
    "forget": Command(
        "no longer miss a drive that was taken out",
        "Tell the daemon that a drive was taken out for good: until then it is shown as missing.",
        _forget_arguments,
        _forget,
    ),
    "probe": Command(
        "probe now: what a commit, a page read and a page write take",
        "Run the probes that the daemon runs, or one of them, once and now, and compare with what"
        " the daemon has kept. They write a few MB, and the first time their file, 64 MiB. Exit"
        " status 0: measured, 1: slower than the drive was, 2: a mistake or refused, 3: not"
        " measured. A host that rebooted during a probe keeps probes off until somebody has looked"
        " why, and says so with --acknowledge.",
        measuring_commands.probe_arguments,
        measuring_commands.probe,
    ),
    "slc": Command(
        "find where a drive's write cache ends, and how fast it is beyond",
        "Write until the end of the drive's SLC cache is certain, or all that may be written, and"
        " judge the speed over the bytes. The daemon shows the result. Exit status 0: no end was"
        " found, 1: the cache ends or the drive slows down, 2: a mistake or refused, 3: not"
        " measured. A drive must have rested, or its cache looks smaller.",
        measuring_commands.slc_arguments,
        measuring_commands.slc,
    ),
    "steady-state": Command(
        "run a profile in rounds until the drive is steady by SNIA's rule",
        "Run rounds of a profile until the last five stay within 20 % of their mean and their line"
        " within 10 %, or show those that the daemon has kept (--kept). Exit status 0: steady, 1:"
        " not, 2: a mistake or refused, 3: too few rounds.",
        measuring_commands.steady_state_arguments,
        measuring_commands.steady_state,
    ),
    "bench": Command(
        "what a drive does: block size × jobs × mode, bounded in bytes and time",
        "Measure IOPS, throughput and latency for each block size, number of jobs and mode, past"
        " the page cache, in a file of its own that is removed afterwards. What it writes is shown"
        " before, and asked for. Ctrl-C ends it and shows what was measured. Exit status 0:"
        " measured, 2: a mistake or refused, 3: not measured, or not to the end.",
        measuring_commands.bench_arguments,
        measuring_commands.bench,
    ),
    "capture": Command(
        "record this host for a bug report or a test, without its serial numbers",
        "Write what the exporter reads of this host into a directory: kernel files and smartctl's"
        " output, with serial numbers and WWNs replaced.",
        _capture_arguments,
        _capture,
    ),
    "smart-agent": Command(
        "ask the drives, with rights and without a network",
        "Ask the drives on a clock of its own and leave what they say in a directory, where the"
        " daemon finds it. To be run as root; it has no network and takes no input.",
        _agent_arguments,
        _smart_agent,
    ),
}
