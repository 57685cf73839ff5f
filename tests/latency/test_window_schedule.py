"""The windows of the agent: when they start, how they are added up, and how they fail."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from exporter.latency.window_schedule import WindowPlan, WindowSchedule, command_line
from exporter.programs.child import End, Finished
from exporter.tails.latency_document import DeviceRequests, LatencyDocument
from tests.fakes import FakeChildren, FakeClock

PLAN = WindowPlan(5, 60, 10_000, Path("/sys"), Path("/proc"))


def exited(values: Any, status: int = 0) -> Finished:
    output = values if isinstance(values, bytes) else json.dumps(values).encode()
    return Finished("", End.EXITED, status, output)


def one_window(count: int = 7, name: str = "sda") -> Finished:
    device = {"bins": {"read": [[10, count]]}, "lost": 1, "unfinished": 0}
    return exited({"observed_seconds": 5.0, "shortened": False, "devices": {name: device}})


class Its:
    """A schedule, the process that it starts, and the documents that it writes."""

    def __init__(self, answers: Sequence[Finished | None]) -> None:
        self.clock = FakeClock()
        left = list(answers)
        self.children = FakeChildren(lambda _argv: left.pop(0))
        self.documents: list[LatencyDocument] = []
        self.schedule = WindowSchedule(
            PLAN, self.clock, self.children, "boot", self.documents.append
        )

    def run(self, seconds: int) -> None:
        for _ in range(seconds):
            self.schedule.step()
            self.clock.advance(1)


def test_each_period_has_one_window_that_lies_within_it() -> None:
    its = Its([one_window()] * 30)
    start, began = its.clock.monotonic(), []
    for _ in range(30 * 60):
        before = len(its.children.ran)
        its.schedule.step()
        if len(its.children.ran) > before:
            began.append(its.clock.monotonic() - start)
        its.clock.advance(1)
    assert list(range(30)) == [int(at // 60) for at in began]
    assert max(at % 60 for at in began) <= 56
    assert len({at % 60 for at in began}) > 5


def test_windows_are_added_up() -> None:
    its = Its([one_window(7), one_window(3), one_window(1, "sdb")])
    its.run(180)
    last = its.documents[-1]
    assert (3, 15.0, "") == (last.windows, last.observed_seconds, last.problem)
    assert {
        "sda": DeviceRequests({"read": {10: 10}}, lost=2),
        "sdb": DeviceRequests({"read": {10: 1}}, lost=1),
    } == last.devices
    assert {last.run} == {document.run for document in its.documents}


@pytest.mark.parametrize(
    ("failed", "words"),
    [
        (exited({"problem": "tracefs is not mounted"}, 2), "tracefs is not mounted"),
        (exited(b"", 2), "the window ended with status 2"),
        (exited(b"{", 0), "not JSON"),
        (exited({"devices": {}}), "observed_seconds is not a number"),
        (exited({"devices": 1, "observed_seconds": 5}), "devices is not an object"),
        (Finished("", End.NOT_STARTED, message="python cannot be run"), "python cannot be run"),
        (None, "it took over 70 s"),
    ],
)
def test_a_failed_window_has_a_reason_and_the_next_one_counts(
    failed: Finished | None, words: str
) -> None:
    its = Its([one_window(), failed, one_window()])
    its.run(180)
    first, second, third = its.documents
    assert words in second.problem
    assert (1, first.devices) == (second.windows, second.devices)
    assert (2, "") == (third.windows, third.problem)


def test_the_time_until_the_next_step_is_known() -> None:
    its = Its([one_window()])
    left = its.schedule.seconds_left()
    assert 0 <= left <= 55
    its.clock.advance(left)
    its.schedule.step()
    assert 6 == its.schedule.seconds_left()
    its.clock.advance(6)
    assert 1 == its.schedule.seconds_left()
    its.schedule.step()
    assert 0 < its.schedule.seconds_left() <= 115


def test_after_a_pause_of_the_host_no_window_is_made_up_for() -> None:
    its = Its([one_window()] * 5)
    its.clock.advance(600)
    its.run(60)
    assert 1 <= len(its.children.ran) <= 2


def test_reloaded_settings_keep_the_sums() -> None:
    its = Its([one_window()] * 4)
    its.run(58)
    its.schedule.reconfigure(WindowPlan(2, 20, 100, Path("/sys"), Path("/proc")))
    its.run(25)
    assert command_line(PLAN) != list(its.children.ran[-1])
    assert (20, len(its.documents)) == (
        its.documents[-1].period_seconds,
        its.documents[-1].windows,
    )
    assert 2 <= len(its.documents) <= 3
