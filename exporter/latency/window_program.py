"""Measures one window for the agent, as a process of its own, and prints what it found as JSON.

The `hist` files of a busy host take more memory to parse than the agent may use. If the agent is
killed, this process ends its window and removes the tracing instance; if it is killed itself,
`TraceGuard` does. If both are killed, the next window does.

The kernel work of a request costs more than that of eBPF (docs/latency.md), so a window has a
number of requests at which it ends early.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from exporter.latency import measured_devices
from exporter.latency.request_window import (
    FULL_RATIO,
    MOST_ENTRIES,
    RequestMeasurement,
    Tracing,
    measure,
)
from exporter.latency.trace_guard import TraceGuard
from exporter.latency.trace_instance import TraceFilesystem
from exporter.runtime.clock import Clock, SystemClock
from exporter.runtime.errors import ConfigError, SourceError
from exporter.tails.latency_bins import binned
from exporter.tails.latency_document import DeviceRequests, encoded_devices

#: The fewest entries of a map of the kernel.
_LEAST_ENTRIES = 1 << 10

#: A window with less than this share of its duration counts as shortened.
_WHOLE_RATIO = 0.95

_REFUSED_STATUS = 2


def main(arguments: Sequence[str]) -> None:
    """Measures a window and prints the result. Without one, prints why, and exits with status 2.

    arguments: those of `window_schedule.command_line`, from the path of /sys on.
    """
    sys_path, proc = Path(arguments[0]), Path(arguments[1])
    seconds, most_requests = float(arguments[2]), int(arguments[3])
    # The instance is removed when the exception of a signal is raised.
    signal.signal(signal.SIGTERM, _end)
    try:
        values = _measured(sys_path, proc, seconds, most_requests)
    except (ConfigError, SourceError) as e:
        _print({"problem": str(e)})
        sys.exit(_REFUSED_STATUS)
    _print(values)


def window(
    tracing: Tracing,
    clock: Clock,
    seconds: float,
    most_requests: int,
    *,
    name: Callable[[str], str],
    in_flight: Callable[[], Mapping[str, int]],
) -> dict[str, Any]:
    """Measures a window and returns the JSON values of the result.

    seconds: the duration of the window.
    most_requests: the number of requests at which it ends early.
    name: returns the name of a device number.
    in_flight: returns the number of requests in flight, keyed by device number.

    Raises:
        ConfigError: the kernel refuses a trigger.
        SourceError: a histogram cannot be read.
    """
    measured = measure(
        tracing,
        clock,
        seconds,
        entries=entries(most_requests),
        in_flight=in_flight,
        on_reading=lambda so_far, _share: _requests(so_far) < most_requests,
    )
    return {
        "observed_seconds": measured.observed_seconds,
        "shortened": measured.observed_seconds < _WHOLE_RATIO * seconds,
        "devices": encoded_devices(_devices(measured, name)),
    }


def entries(most_requests: int) -> int:
    """Returns the number of entries of a map that this number of requests does not fill."""
    wanted = 1 << int(most_requests / FULL_RATIO).bit_length()
    return min(max(wanted, _LEAST_ENTRIES), MOST_ENTRIES)


def _measured(sys_path: Path, proc: Path, seconds: float, most_requests: int) -> dict[str, Any]:
    found = measured_devices.find(sys_path, proc, ())
    tracing = TraceFilesystem.opened(sys_path)
    try:
        tracing.clean()
        with TraceGuard(tracing.remove):
            return window(
                tracing,
                SystemClock(),
                seconds,
                most_requests,
                name=found.name,
                in_flight=lambda: measured_devices.in_flight(proc),
            )
    finally:
        tracing.close()


def _devices(measured: RequestMeasurement, name: Callable[[str], str]) -> dict[str, DeviceRequests]:
    numbers = {number for number, _ in measured.in_device} | {*measured.lost, *measured.unfinished}
    # Requests of the device 0:0 are commands to a controller.
    return {
        name(number): DeviceRequests(
            {
                op: binned(histogram)
                for (of, op), histogram in measured.in_device.items()
                if of == number
            },
            measured.lost.get(number, 0),
            measured.unfinished.get(number, 0),
        )
        for number in sorted(numbers - {"0:0"})
    }


def _requests(measured: RequestMeasurement) -> int:
    return sum(histogram.count for histogram in measured.in_device.values())


def _end(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _print(values: dict[str, Any]) -> None:
    text = json.dumps(values, separators=(",", ":")).encode()
    while text:
        text = text[os.write(1, text) :]
