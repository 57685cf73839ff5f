"""Measures a window of single requests once in a period, and adds the windows up. For the agent.

A window begins at a random time within its period. At a fixed one, work that a timer starts each
minute would always be measured, or never.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.programs.child import Finished
from exporter.programs.children import Children
from exporter.runtime.clock import Clock
from exporter.runtime.errors import ParseError
from exporter.runtime.json_fields import JsonFields
from exporter.tails.latency_bins import total
from exporter.tails.latency_document import (
    DeviceRequests,
    LatencyDocument,
    fields,
    parse_devices,
)

#: The time limit of the process, in addition to twice the window, in seconds. It may wait 5 s for
#: another measurement, 2 s for slow requests, and 5 s to remove the instance.
_MORE_SECONDS = 60.0

#: A window usually ends this time after its duration, in seconds. Later it is checked this often.
_CHECK_SECONDS = 1.0

_KEY = "latency"

#: `window_program` is not imported: it and the files that it parses would take memory of the agent.
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1));"
    " from exporter.latency.window_program import main; main(sys.argv[1:])"
)
_ROOT = str(Path(__file__).parents[2])

#: The bytes of a random number.
_RANDOM_BYTES = 4


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """The settings of the windows.

    window_seconds: the duration of a window. period_seconds: the time between two.
    most_requests: the number of requests at which a window ends early.
    sys, proc: the paths of /sys and /proc.
    """

    window_seconds: float
    period_seconds: float
    most_requests: int
    sys: Path
    proc: Path


class WindowSchedule:
    """The windows of an agent. One thread calls `step` repeatedly.

    children: runs the process that measures. Nothing else may use it.
    boot_id: the ID of this boot.
    write: called with the document after each window.
    """

    def __init__(
        self,
        plan: WindowPlan,
        clock: Clock,
        children: Children,
        boot_id: str,
        write: Callable[[LatencyDocument], None],
    ) -> None:
        self._clock = clock
        self._children = children
        self._write = write
        self._is_running = False
        self._expected_end = 0.0
        self._plan = plan
        now = clock.monotonic()
        self._document = LatencyDocument(
            f"{boot_id}:{now}", clock.wall(), now, boot_id, plan.period_seconds
        )
        self._set_period(now)

    def reconfigure(self, plan: WindowPlan) -> None:
        """Applies reloaded settings. The sums are kept."""
        if plan != self._plan:
            self._plan = plan
            self._set_period(self._clock.monotonic())

    def seconds_left(self) -> float:
        """Returns the time after which `step` should be called."""
        now = self._clock.monotonic()
        if self._is_running:
            return max(_CHECK_SECONDS, self._expected_end - now)
        return max(0.0, self._start_at - now)

    def step(self) -> None:
        """Takes the result of a window that has ended, and starts one that is due."""
        if self._is_running or self._children.stuck():
            for finished in self._children.wait(0.0):
                self._is_running = False
                self._take(finished)
        now = self._clock.monotonic()
        if not self._is_running and not self._children.stuck() and now >= self._start_at:
            self._set_period(max(self._period_ends, now))
            plan = self._plan
            limit = 2 * plan.window_seconds + _MORE_SECONDS
            self._children.start(_KEY, command_line(plan), limit)
            self._is_running = True
            self._expected_end = now + plan.window_seconds + _CHECK_SECONDS

    def close(self) -> None:
        """Ends a window. Its process removes the tracing instance."""
        self._children.close()

    def _set_period(self, begins: float) -> None:
        """Chooses the start of a window in the period that begins at this time."""
        plan = self._plan
        self._period_ends = begins + plan.period_seconds
        share = int.from_bytes(os.urandom(_RANDOM_BYTES), "big") / (1 << 8 * _RANDOM_BYTES)
        self._start_at = begins + share * (plan.period_seconds - plan.window_seconds)

    def _take(self, finished: Finished) -> None:
        now = replace(
            self._document,
            at=self._clock.wall(),
            monotonic=self._clock.monotonic(),
            period_seconds=self._plan.period_seconds,
        )
        try:
            values = fields(finished.output or b"{}")
            problem = values.get("problem") or finished.message or _status_words(finished)
            self._document = replace(now, problem=str(problem)) if problem else _added(now, values)
        except ParseError as e:
            self._document = replace(now, problem=str(e))
        self._write(self._document)


def command_line(plan: WindowPlan) -> list[str]:
    """Returns the command that measures a window."""
    options = "-I", "-S", "-c", _START, _ROOT
    numbers = f"{plan.window_seconds:g}", str(plan.most_requests)
    return [sys.executable, *options, str(plan.sys), str(plan.proc), *numbers]


def _status_words(finished: Finished) -> str:
    return f"the window ended with status {finished.status}" if finished.status else ""


def _added(before: LatencyDocument, values: JsonFields) -> LatencyDocument:
    """Returns the document with the values of one more window.

    Raises:
        ParseError: a value has a wrong type or size.
    """
    devices = dict(before.devices)
    for name, new in parse_devices(values.get("devices")).items():
        old = devices.get(name, DeviceRequests())
        operations = {*old.bins, *new.bins}
        devices[name] = DeviceRequests(
            {op: total((old.bins.get(op, {}), new.bins.get(op, {}))) for op in sorted(operations)},
            old.lost + new.lost,
            old.unfinished + new.unfinished,
        )
    return replace(
        before,
        windows=before.windows + 1,
        observed_seconds=before.observed_seconds + values.seconds("observed_seconds"),
        shortened=before.shortened + (values.get("shortened") is True),
        problem="",
        devices=devices,
    )
