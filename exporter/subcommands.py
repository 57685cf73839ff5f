"""The commands besides the daemon: their arguments, and where each is carried out.

What a command needs is imported when it runs: `--help` and the agent need next to nothing.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter.config import Settings


@dataclass(frozen=True, slots=True)
class Command:
    """One command; `run` returns the exit status and may raise ConfigError."""

    summary: str
    description: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Settings, argparse.Namespace], int]


def _nothing(_p: argparse.ArgumentParser) -> None:
    return


def _smart_agent(chosen: Settings, _arguments: argparse.Namespace) -> int:
    from exporter import agent, polling_plan  # noqa: PLC0415

    path = chosen.path
    agent.begin(
        polling_plan.of(chosen),
        chosen.smart.directory,
        sysfs=path.sysfs,
        root=path.rootfs,
        level=chosen.log.level,
    )


COMMANDS: Mapping[str, Command] = {
    "smart-agent": Command(
        "ask the drives, with rights and without a network",
        "Ask the drives on a clock of its own and leave what they say in a directory, where the"
        " daemon finds it. To be run as root; it has no network and takes no input.",
        _nothing,
        _smart_agent,
    ),
}
