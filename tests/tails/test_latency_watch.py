"""The sums of the daemon: restarts of the agent, the last hour, and why nothing is measured."""

from dataclasses import replace
from pathlib import Path

import pytest

from exporter.families.desc import Buckets
from exporter.metrics.latency_collector import samples
from exporter.runtime.clock import Clock
from exporter.runtime.errors import CommandError, ParseError, ReadError
from exporter.smart.document_directory import DocumentWriter
from exporter.smart.polling.moment import Moment
from exporter.tails.latency_bins import bin_of
from exporter.tails.latency_document import (
    LATENCY_FILE,
    DeviceRequests,
    LatencyDocument,
    encoded,
)
from exporter.tails.latency_watch import LatencyWatch
from tests.fakes import FakeClock

FAST, SLOW = bin_of(100_000), bin_of(40_000_000)


class Agent:
    """Writes documents to a directory as the agent does."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._writer = DocumentWriter(directory)
        self._clock = clock

    def writes(
        self, windows: int, fast: int, slow: int = 0, run: str = "one", problem: str = ""
    ) -> None:
        now = Moment.now(self._clock)
        bins = {"read": {FAST: fast, SLOW: slow} if slow else {FAST: fast}}
        document = LatencyDocument(
            run,
            now.unix_time,
            now.monotonic or 0.0,
            now.boot_id,
            60.0,
            windows,
            5.0 * windows,
            problem=problem,
            devices={"sda": DeviceRequests(bins, lost=windows)},
        )
        self._writer.write_file(LATENCY_FILE, encoded(document))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def agent(tmp_path: Path, clock: FakeClock) -> Agent:
    return Agent(tmp_path / "run", clock)


@pytest.fixture
def watch(tmp_path: Path, clock: FakeClock) -> LatencyWatch:
    return LatencyWatch(tmp_path / "run", clock)


def test_the_sums_of_the_agent_are_those_of_the_daemon(agent: Agent, watch: LatencyWatch) -> None:
    agent.writes(2, 100)
    watch.refresh()
    watch.refresh()
    agent.writes(3, 150, slow=1)
    watch.refresh()
    assert watch.totals is not None
    assert {("sda", "read"): {FAST: 150, SLOW: 1}} == watch.totals.bins
    assert (3, 15.0, {"sda": 3}) == (
        watch.totals.windows,
        watch.totals.observed_seconds,
        watch.totals.lost,
    )


def test_no_counter_decreases_if_the_agent_starts_again(agent: Agent, watch: LatencyWatch) -> None:
    agent.writes(5, 500)
    watch.refresh()
    agent.writes(1, 90, run="two")
    watch.refresh()
    agent.writes(2, 190, run="two")
    watch.refresh()
    assert watch.totals is not None
    assert (7, {FAST: 690}) == (watch.totals.windows, watch.totals.bins["sda", "read"])


def test_the_last_hour_begins_with_the_daemon_and_ends_after_an_hour(
    agent: Agent, watch: LatencyWatch, clock: FakeClock
) -> None:
    agent.writes(1000, 9_999_999)
    watch.refresh()
    assert watch.last_hour("sda") is None
    agent.writes(1001, 9_999_999 + 40, slow=2)
    watch.refresh()
    clock.advance(1800)
    agent.writes(1002, 9_999_999 + 100, slow=2)
    watch.refresh()
    hour = watch.last_hour("sda")
    assert hour is not None
    assert ({"read": {FAST: 100, SLOW: 2}}, 2, 10.0) == (
        hour.bins,
        hour.windows,
        hour.observed_seconds,
    )
    clock.advance(1801)
    hour = watch.last_hour("sda")
    assert hour is not None
    assert {"read": {FAST: 60}} == hour.bins
    assert (1, 0) == (hour.lost, hour.unfinished)
    clock.advance(1801)
    assert watch.last_hour("sda") is None


def test_the_first_window_of_an_agent_that_starts_after_the_daemon_is_in_the_last_hour(
    agent: Agent, watch: LatencyWatch
) -> None:
    with pytest.raises(ReadError):
        watch.refresh()
    agent.writes(1, 40)
    watch.refresh()
    hour = watch.last_hour("sda")
    assert hour is not None
    assert {"read": {FAST: 40}} == hour.bins


def test_a_device_without_requests_was_observed(agent: Agent, watch: LatencyWatch) -> None:
    for windows in (1, 2):
        agent.writes(windows, 10)
        watch.refresh()
    hour = watch.last_hour("sdb")
    assert hour is not None
    assert ({}, 1) == (hour.bins, hour.windows)


def test_without_a_document_there_is_no_agent(watch: LatencyWatch) -> None:
    with pytest.raises(ReadError, match="no smart-agent measures requests"):
        watch.refresh()
    assert watch.totals is None


def test_a_document_that_is_too_old_is_an_error_and_the_sums_stay(
    agent: Agent, watch: LatencyWatch, clock: FakeClock
) -> None:
    agent.writes(2, 100)
    watch.refresh()
    clock.advance(300)
    with pytest.raises(ReadError, match="300 seconds old"):
        watch.refresh()
    assert watch.totals is not None
    assert 2 == watch.totals.windows


def test_the_reason_of_a_failed_window_is_passed_on(agent: Agent, watch: LatencyWatch) -> None:
    agent.writes(2, 100, problem="tracefs is not mounted")
    with pytest.raises(CommandError, match="requests are not measured: tracefs is not mounted"):
        watch.refresh()
    assert watch.totals is not None
    assert 2 == watch.totals.windows


def test_a_broken_document_is_an_error(agent: Agent, watch: LatencyWatch, tmp_path: Path) -> None:
    agent.writes(2, 100)
    (tmp_path / "run" / LATENCY_FILE).write_text("{")
    with pytest.raises(ParseError):
        watch.refresh()


def test_only_exported_devices_have_samples(agent: Agent, watch: LatencyWatch) -> None:
    agent.writes(2, 100, slow=3)
    watch.refresh()
    assert watch.totals is not None
    totals = replace(watch.totals, lost={"sda": 2, "loop0": 1})
    found = {
        (sample.desc.name, sample.labels): sample.value
        for sample in samples(totals, lambda name: name != "loop0")
    }
    buckets = found.pop(("ssd_disk_request_seconds", ("sda", "read")))
    assert isinstance(buckets, Buckets)
    assert 103 == sum(buckets.weights)
    assert 0.12 < buckets.sum < 0.14
    assert {
        ("ssd_disk_request_lost_total", ("sda",)): 2,
        ("ssd_disk_request_unfinished_total", ("sda",)): 0,
        ("ssd_disk_request_windows_total", ()): 2,
        ("ssd_disk_request_windows_shortened_total", ()): 0,
        ("ssd_disk_request_observed_seconds_total", ()): 10.0,
    } == found
