"""``ssd-exporter top``: shows the drives of this host live in a terminal.

The command samples the kernel's counters itself. It needs no daemon, no privileges and no state. It
writes only to its terminal.
"""

import argparse
import json
import logging
import sys
from dataclasses import replace
from typing import TextIO

from exporter.commands.registry import Command
from exporter.config.settings import Settings
from exporter.report.formatting import has_colour, has_unicode, terminal_width
from exporter.runtime.clock import Clock, SystemClock
from exporter.runtime.errors import ConfigError
from exporter.runtime.printable import with_control_characters
from exporter.top import layout
from exporter.top.daemon_page import DEFAULT_URL, DaemonPage, daemon_url
from exporter.top.frame import Frame, as_json
from exporter.top.live_host import LiveHost
from exporter.top.screen import Screen
from exporter.top.spans import Line, as_text
from exporter.top.view import View

#: The narrowest and the widest table in columns, and its width if the output is no terminal.
_LEAST_WIDTH, _MOST_WIDTH, _DEFAULT_WIDTH = 80, 200, 120

#: Limits of --interval in seconds, those of the setting sampler.interval_seconds.
_LEAST_SECONDS, _MOST_SECONDS = 0.1, 10.0

#: The exit status of a program that a signal ends is this number plus that of the signal.
_SIGNAL_STATUS = 128


def take_frame(host: LiveHost, daemon: DaemonPage, clock: Clock, interval: float) -> Frame:
    """Returns the values of one interval, for `--once`."""
    host.tick()
    clock.sleep(interval)
    host.tick()
    daemon.refresh(clock.monotonic())
    return host.frame(daemon.drives, _notes(daemon))


def watch(host: LiveHost, daemon: DaemonPage, clock: Clock, interval: float, out: TextIO) -> int:
    """Shows the drives until the user quits. Returns the exit status."""
    view, is_coloured = View(), has_colour(out)
    host.tick()
    frame = host.frame({})
    due = clock.monotonic() + interval
    with Screen(sys.stdin.fileno(), out.fileno()) as screen:
        while not (view.has_ended or screen.has_ended):
            width, height = screen.size()
            lines = layout.screen(frame, view, min(width, _MOST_WIDTH), height)
            screen.draw(_texts(lines, min(width, _MOST_WIDTH), out, colour=is_coloured))
            for key in screen.keys(due - clock.monotonic()):
                view = view.after(key, view.shown(frame.drives))
            now = clock.monotonic()
            if now >= due:
                # The samples continue while the screen is paused, so the history has no hole.
                due = max(due + interval, now)
                host.tick()
                if not view.is_paused:
                    daemon.refresh(now)
                    frame = host.frame(daemon.drives, _notes(daemon))
    return _SIGNAL_STATUS + screen.ended_by if screen.ended_by else 0


def _notes(daemon: DaemonPage) -> tuple[str, ...]:
    return (daemon.note,) if daemon.note else ()


def _texts(lines: list[Line], width: int, out: TextIO, *, colour: bool) -> list[str]:
    return as_text(lines, width, colour=colour, unicode=has_unicode(out))


def _add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument("--once", action="store_true", help="print one interval and exit")
    p.add_argument("--json", action="store_true", help="print one interval as JSON and exit")
    p.add_argument(
        "--interval", type=float, metavar="SECONDS", help="time between two samples; default: 1"
    )
    p.add_argument(
        "--url",
        help="a running daemon, for wear, temperature and baselines; default: the first"
        f" web.listen_address of the configuration, {DEFAULT_URL} without one",
    )


def _run(settings: Settings, arguments: argparse.Namespace) -> int:
    interval = settings.sampler.interval_seconds
    if arguments.interval is not None:
        interval = arguments.interval
    if not _LEAST_SECONDS <= interval <= _MOST_SECONDS:
        raise ConfigError(
            f"--interval is {interval:g}", f"use {_LEAST_SECONDS:g} to {_MOST_SECONDS:g} seconds"
        )
    daemon = DaemonPage(arguments.url or daemon_url(settings.web.listen_address[0]))
    # Problems of the sources are notes on the screen. A line of the log would destroy it.
    logging.disable(logging.CRITICAL)
    clock, out = SystemClock(), with_control_characters(sys.stdout)
    settings = replace(settings, sampler=replace(settings.sampler, interval_seconds=interval))
    host = LiveHost(settings, clock, interval)
    if not (arguments.once or arguments.json) and sys.stdin.isatty() and out.isatty():
        return watch(host, daemon, clock, interval, out)
    frame = take_frame(host, daemon, clock, interval)
    if arguments.json:
        sys.stdout.write(json.dumps(as_json(frame), indent=2, allow_nan=False) + "\n")
        return 0
    width = terminal_width(_DEFAULT_WIDTH, _LEAST_WIDTH, _MOST_WIDTH)
    lines = _texts(layout.report(frame, width), width, out, colour=has_colour(out))
    out.write("\n".join(lines) + "\n")
    return 0


COMMAND = Command(
    description="Show the drives of this host live: throughput, latency, queue, verdict, and the"
    " services that cause the I/O. It samples the kernel's counters itself and needs no daemon and"
    " no privileges. From a running daemon it takes wear, temperature and the latency baselines."
    " Press ? for the keys. If the output is not a terminal, it prints one interval.",
    add_arguments=_add_arguments,
    run=_run,
)
