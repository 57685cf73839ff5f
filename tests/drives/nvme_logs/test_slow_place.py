"""Where slow requests spent their time: inside the drive, outside of it, or unknown."""

import pytest

from exporter.drives.nvme_logs.latency_growth import LatencyGrowth
from exporter.drives.nvme_logs.slow_place import (
    HostLatency,
    SlowPlace,
    SlowPlaces,
    SlowPlaceTracker,
    SlowRequests,
)

AT = 1_700_000_000.0
LATER = AT + 900.0
#: The drive counts requests of 30 ms and more, and the host has seconds with such awaits.
LEAST, SLOW, VERY_SLOW = 0.03, 0.04, 0.09


def growth(reads: int = 0, writes: int = 0, *, until: float = LATER) -> LatencyGrowth:
    return LatencyGrowth(until - 900.0, until, LEAST, reads, writes)


def observed(
    tracker: SlowPlaceTracker,
    at: float,
    read: float | None = None,
    write: float | None = None,
    *,
    flushes: int | None = 5,
    found: LatencyGrowth | None = None,
    step: float = 0.0,
) -> SlowPlaces | None:
    """The result after an observation. step: how far the clock was set since the start."""
    host = HostLatency(at, at - AT - step, 70.0, read, write, flushes)
    tracker.observe(host, LEAST, found)
    return tracker.places


@pytest.fixture
def tracker() -> SlowPlaceTracker:
    """A tracker that has observed a calm drive before the first reading."""
    tracker = SlowPlaceTracker()
    observed(tracker, AT - 60, 0.0001, 0.0001)
    return tracker


def test_slow_seconds_without_a_slow_request_in_the_drive_are_outside(
    tracker: SlowPlaceTracker,
) -> None:
    observed(tracker, AT + 300, VERY_SLOW, None)
    places = observed(tracker, LATER + 10, found=growth())
    outside = SlowRequests("read", SlowPlace.OUTSIDE, 0, VERY_SLOW)
    assert SlowPlaces(AT, LATER, LEAST, (outside,)) == places


def test_slow_seconds_with_slow_requests_in_the_drive_are_inside(
    tracker: SlowPlaceTracker,
) -> None:
    observed(tracker, AT + 300, 0.0001, SLOW)
    places = observed(tracker, LATER + 10, found=growth(writes=7))
    assert places is not None
    assert (SlowRequests("write", SlowPlace.INSIDE, 7, SLOW),) == places.requests


def test_reads_and_writes_are_apart(tracker: SlowPlaceTracker) -> None:
    observed(tracker, AT + 300, SLOW, VERY_SLOW)
    places = observed(tracker, LATER + 10, found=growth(reads=2))
    assert places is not None
    assert [("read", SlowPlace.INSIDE), ("write", SlowPlace.OUTSIDE)] == [
        (each.op, each.place) for each in places.requests
    ]


@pytest.mark.parametrize(
    ("at", "read", "counted"),
    [
        pytest.param(AT + 300, 0.0001, 0, id="no slow second"),
        pytest.param(AT + 300, 0.0001, 3, id="slow requests that no second shows"),
        pytest.param(AT + 300, SLOW, 0, id="less than twice the limit"),
        pytest.param(AT + 60, VERY_SLOW, 0, id="the second may be before the first reading"),
        pytest.param(LATER - 30, VERY_SLOW, 0, id="the drive may have been read before it"),
    ],
)
def test_without_evidence_nothing_is_known(
    tracker: SlowPlaceTracker, at: float, read: float, counted: int
) -> None:
    observed(tracker, at, read)
    assert observed(tracker, LATER + 10, found=growth(counted)) is None


@pytest.mark.parametrize("flushes", [6, None])
def test_writes_that_may_have_waited_for_a_flush_of_the_drive_are_not_outside(
    tracker: SlowPlaceTracker, flushes: int | None
) -> None:
    observed(tracker, AT + 300, None, VERY_SLOW, flushes=flushes)
    assert observed(tracker, LATER + 10, found=growth(), flushes=flushes) is None
    observed(tracker, LATER + 300, None, VERY_SLOW, flushes=flushes)
    later = observed(tracker, LATER + 910, flushes=flushes, found=growth(until=LATER + 900))
    assert (flushes is not None) is (later is not None), "no flush in the next period"


def test_a_slow_second_counts_for_one_period(tracker: SlowPlaceTracker) -> None:
    observed(tracker, AT + 300, VERY_SLOW)
    assert observed(tracker, LATER + 10, found=growth()) is not None
    assert observed(tracker, LATER + 910, found=growth(until=LATER + 900)) is None


def test_the_result_stays_until_the_next_reading_is_overdue(tracker: SlowPlaceTracker) -> None:
    observed(tracker, AT + 300, VERY_SLOW)
    places = observed(tracker, LATER + 10, found=growth())
    assert places is not None
    assert observed(tracker, LATER + 870, found=growth()) == places
    assert observed(tracker, LATER + 1900, found=growth()) is None


def test_a_reading_that_cannot_be_compared_ends_the_result(tracker: SlowPlaceTracker) -> None:
    observed(tracker, AT + 300, VERY_SLOW)
    assert observed(tracker, LATER + 10, found=growth()) is not None
    assert observed(tracker, LATER + 40) is None


def test_after_a_step_of_the_clock_nothing_is_known(tracker: SlowPlaceTracker) -> None:
    observed(tracker, AT + 300, VERY_SLOW)
    assert observed(tracker, LATER + 10, step=-60.0, found=growth()) is None


def test_the_memory_of_a_drive_that_is_always_slow_is_limited(tracker: SlowPlaceTracker) -> None:
    for number in range(500):
        observed(tracker, AT + 30 * number, SLOW)
    assert len(tracker._minutes) == 180
