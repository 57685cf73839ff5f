"""``ssd-exporter smart-agent``: starts the agent, a privileged process that polls the drives."""

import argparse
import sys
from typing import TYPE_CHECKING

from exporter import agent
from exporter.agent import AgentSettings
from exporter.commands.registry import Command
from exporter.config.settings import Settings
from exporter.smart import polling_plan

if TYPE_CHECKING:
    from exporter.latency.window_schedule import WindowPlan


def _add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--config.check",
        dest="config_check",
        action="store_true",
        help="check the configuration and exit",
    )


def _run(settings: Settings, arguments: argparse.Namespace) -> int:
    if arguments.config_check:
        sys.stdout.write("the configuration is valid\n")
        return 0
    agent.run(_agent_settings(settings), lambda: _agent_settings(arguments.read_settings()))
    return 0


def _agent_settings(settings: Settings) -> AgentSettings:
    return AgentSettings(
        polling_plan.of(settings),
        settings.smart.directory,
        sysfs=settings.path.sysfs,
        root=settings.path.rootfs,
        log_level=settings.log.level,
        log_format=settings.log.format,
        latency=_window_plan(settings),
    )


def _window_plan(settings: Settings) -> "WindowPlan | None":
    latency = settings.latency
    if not latency.enabled:
        return None
    # Imported only if it is used, because the agent's memory is limited.
    from exporter.latency.window_schedule import WindowPlan  # noqa: PLC0415

    return WindowPlan(
        latency.window_seconds,
        latency.period_seconds,
        int(latency.max_requests_per_second * latency.window_seconds),
        sys=settings.path.sysfs,
        proc=settings.path.procfs,
    )


COMMAND = Command(
    "Poll the drives with smartctl at the configured interval, and write the results to a"
    " directory that the daemon reads. Run it as root. It uses no network and accepts no requests.",
    _add_arguments,
    _run,
)
