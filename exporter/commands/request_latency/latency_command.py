"""``ssd-exporter latency``: measures each request of the block devices for some seconds.

The kernel measures and counts (`exporter.latency`). The command needs root, and changes nothing
but its own tracing instance, which it removes at its end.
"""

import argparse
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TextIO

from exporter.commands.registry import Command
from exporter.commands.request_latency.latency_screen import screen
from exporter.config.drive_class import VolumeType
from exporter.config.settings import Settings, device_filter
from exporter.io.volume_models import volume_type
from exporter.latency import latency_report, measured_devices
from exporter.latency.measured_devices import MeasuredDevices
from exporter.latency.request_summary import DeviceSummary, summaries
from exporter.latency.request_window import RequestMeasurement, measure
from exporter.latency.trace_guard import TraceGuard
from exporter.latency.trace_instance import TraceFilesystem
from exporter.linux import device, topology
from exporter.measurement.interruption import InterruptHandler
from exporter.report import delivery
from exporter.report.formatting import has_colour, has_unicode
from exporter.runtime.clock import SystemClock
from exporter.runtime.errors import ConfigError, SourceError
from exporter.runtime.printable import with_control_characters
from exporter.top.screen import Screen
from exporter.top.spans import as_text

#: The limits of --seconds.
_LEAST_SECONDS, _MOST_SECONDS = 1.0, 3600.0
_DEFAULT_SECONDS = 10.0

#: The time to wait for another measurement, in seconds. A window of the collector takes less if
#: `latency.window_seconds` is at most 10.
_WAIT_SECONDS = 15.0

_SIGNAL_STATUS = 128


def run(
    settings: Settings, tracing: TraceFilesystem, arguments: argparse.Namespace, out: TextIO
) -> int:
    """Measures and prints the report. Returns the exit status.

    Raises:
        ConfigError: a device does not exist, the kernel refuses a trigger, or the HTML file cannot
            be written.
    """
    sys_, proc = settings.path.sysfs, settings.path.procfs
    delivery.check(arguments.html)
    try:
        found = measured_devices.find(sys_, proc, arguments.device)
        shown = _shown_devices(settings, found)
        tracing.clean()
        is_live = not (arguments.once or arguments.json) and sys.stdin.isatty() and out.isatty()
        watch = _watched if is_live else _quiet
        with TraceGuard(tracing.remove):
            measured, ended_by = watch(
                lambda on_reading: measure(
                    tracing,
                    SystemClock(),
                    arguments.seconds,
                    devices=found.kernel_numbers,
                    in_flight=lambda: measured_devices.in_flight(proc),
                    on_reading=on_reading,
                ),
                shown,
                out,
            )
    except SourceError as e:
        raise ConfigError(f"the latency cannot be measured: {e}") from e
    devices = shown(measured)
    volumes = _volumes(sys_, {each.name for each in devices})
    delivery.deliver(
        latency_report.report(measured, devices, arguments.seconds, found.notes, volumes),
        out,
        as_json=arguments.json,
        html=arguments.html,
    )
    return _SIGNAL_STATUS + ended_by if ended_by else 0


_Shown = Callable[[RequestMeasurement], tuple[DeviceSummary, ...]]
_Measure = Callable[[Callable[[RequestMeasurement, float], bool]], RequestMeasurement]


def _quiet(
    run_measurement: _Measure, _shown: _Shown, _out: TextIO
) -> tuple[RequestMeasurement, int]:
    """Returns what was measured until the end or a signal, and the number of the signal or 0."""
    with InterruptHandler() as interrupt:
        measured = run_measurement(lambda _measured, _share: not interrupt.is_set)
    return measured, interrupt.signal or 0


def _watched(
    run_measurement: _Measure, shown: _Shown, out: TextIO
) -> tuple[RequestMeasurement, int]:
    """Shows the measurement while it runs. `q` or a signal ends it."""
    display = with_control_characters(out)
    with Screen(sys.stdin.fileno(), display.fileno()) as terminal:

        def draw(measured: RequestMeasurement, share: float) -> bool:
            width, height = terminal.size()
            lines = screen(shown(measured), measured.observed_seconds, share, height)
            colour, unicode = has_colour(out), has_unicode(out)
            terminal.draw(as_text(lines, width, colour=colour, unicode=unicode))
            return not (terminal.has_ended or "q" in list(terminal.keys(0)))

        measured = run_measurement(draw)
    return measured, terminal.ended_by


def _shown_devices(settings: Settings, found: MeasuredDevices) -> _Shown:
    """Returns a function that summarises the devices to show: the chosen ones, or the exported."""
    is_exported = device_filter(settings.disk)

    def shown(measured: RequestMeasurement) -> tuple[DeviceSummary, ...]:
        # Requests without a device are commands to a controller.
        numbers = {number for number, _ in measured.in_device} | set(measured.issued)
        chosen = found.chosen or sorted(
            number for number in numbers if number != "0:0" and is_exported(found.name(number))
        )
        return summaries(measured, found.names, chosen) if chosen else ()

    return shown


def _volumes(sys_: Path, names: Collection[str]) -> list[str]:
    """Returns those of the devices that are volumes of a hypervisor, an array or a cloud."""
    found = []
    for entry in topology.list_entries(sys_):
        read = (
            device.read(sys_, entry).value
            if entry.directory_name.replace("!", "/") in names
            else None
        )
        if read and volume_type(read.block.name, read.identity) is not VolumeType.DRIVE:
            found.append(read.block.name)
    return found


def _add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "device",
        nargs="*",
        metavar="DEVICE",
        help="device such as nvme0n1 or /dev/mapper/data; default: all",
    )
    p.add_argument(
        "--seconds",
        type=float,
        default=_DEFAULT_SECONDS,
        metavar="SECONDS",
        help="duration of the measurement; default: %(default)g",
    )
    p.add_argument("--once", action="store_true", help="print the result only, for a ticket")
    p.add_argument("--json", action="store_true", help="print JSON with stable keys")
    p.add_argument("--html", type=Path, metavar="FILE", help="also write an HTML report to FILE")


def _run(settings: Settings, arguments: argparse.Namespace) -> int:
    if not _LEAST_SECONDS <= arguments.seconds <= _MOST_SECONDS:
        raise ConfigError(
            f"--seconds is {arguments.seconds:g}",
            f"use {_LEAST_SECONDS:g} to {_MOST_SECONDS:g}",
        )
    tracing = TraceFilesystem.opened(settings.path.sysfs, _WAIT_SECONDS)
    try:
        return run(settings, tracing, arguments, sys.stdout)
    finally:
        tracing.close()


COMMAND = Command(
    description="Measure the latency of each single request, and show its percentiles per device"
    " and operation. The kernel counts the requests in histograms (hist triggers in tracefs):"
    " without eBPF and without a compiler. It requires root, changes nothing but its own tracing"
    " instance, and removes it at the end. On a terminal it shows the histograms live.",
    add_arguments=_add_arguments,
    run=_run,
)
