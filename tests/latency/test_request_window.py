"""A measurement: rounds, requests that do not complete, and what is lost."""

from hypothesis import given
from hypothesis import strategies as st

from exporter.latency.request_summary import summaries
from exporter.latency.request_window import (
    FIRST_ENTRIES,
    MOST_ENTRIES,
    RequestMeasurement,
    measure,
)
from exporter.runtime.errors import ReadError
from tests.fakes import FakeClock
from tests.latency.tracefs import CountingKernel

SDA = 8 << 20
SDB = (8 << 20) | 16
READ = (SDA, "RS", 2_097_152)


def test_all_requests_of_a_quiet_device_are_measured_in_one_round() -> None:
    clock = FakeClock()
    kernel = CountingKernel(clock, {READ: 100, (SDB, "FF", 4_194_304): 10})
    measured = measure(kernel, clock, 10)
    assert (1, 1, [FIRST_ENTRIES]) == (measured.rounds, kernel.removed, kernel.entries)
    assert 10 <= measured.observed_seconds < 10.3
    assert measured.issued == {"8:0": 1000, "8:16": 100}
    assert 1000 == measured.in_device["8:0", "read"].count
    assert 100 == measured.in_device["8:16", "flush"].count
    assert not any(measured.lost.values())


def test_a_full_map_begins_a_larger_round() -> None:
    clock = FakeClock()
    kernel = CountingKernel(clock, {READ: 3000})
    measured = measure(kernel, clock, 10)
    assert [FIRST_ENTRIES, 4 * FIRST_ENTRIES, MOST_ENTRIES] == kernel.entries[:3]
    assert set(kernel.entries[3:]) <= {MOST_ENTRIES}
    assert measured.rounds == kernel.removed == len(kernel.entries)
    assert not any(measured.lost.values())
    assert 10 <= measured.observed_seconds < 10.3


@given(st.floats(1, 3e5))
def test_no_round_fills_its_map_at_any_rate(per_second: float) -> None:
    clock = FakeClock()
    kernel = CountingKernel(clock, {READ: per_second})
    measured = measure(kernel, clock, 1)
    per_round = measured.issued.get("8:0", 0) / measured.rounds
    # The first reading is after 20 ms: a rate above 200,000 per second can fill the first map.
    assert per_round <= max(MOST_ENTRIES, per_second / 20)


def test_a_request_that_does_not_complete_is_unfinished_while_it_is_in_flight() -> None:
    clock = FakeClock()
    kernel = CountingKernel(clock, {READ: 100}, stuck=3)
    measured = measure(kernel, clock, 1, in_flight=lambda: {"8:0": 2})
    assert ({"8:0": 2}, {"8:0": 1}) == (measured.unfinished, measured.lost)
    (device,) = summaries(measured, {"8:0": "sda"})
    assert (2, 1) == (device.unfinished, device.lost)
    assert device.sentence().startswith(
        "sda: 2 requests did not complete within two seconds after the measurement"
    )


def test_the_triggers_are_removed_after_an_error() -> None:
    clock = FakeClock()
    kernel = CountingKernel(clock, {READ: 100})

    def fail() -> None:
        raise ReadError("hist")

    kernel.on_read = fail
    try:
        measure(kernel, clock, 1)
    except ReadError:
        assert 1 == kernel.removed
    else:
        raise AssertionError


def test_a_caller_can_end_the_measurement() -> None:
    clock = FakeClock()
    kernel = CountingKernel(clock, {READ: 100})
    shares: list[float] = []

    def is_wanted(_: RequestMeasurement, share: float) -> bool:
        shares.append(share)
        return share < 0.5

    measured = measure(kernel, clock, 10, on_reading=is_wanted)
    assert 0.5 <= shares[-1] < 0.55
    assert shares == sorted(shares)
    assert 5 <= measured.observed_seconds < 5.3
