"""What a latency monitor counted between two readings, and when the counters do not tell it."""

from dataclasses import replace

import pytest

from exporter.drives.nvme_logs.drive_latency import DriveLatency, LatencyBucket, SlowCommands
from exporter.drives.nvme_logs.latency_growth import LatencyGrowth, latency_growth

AT = 1_700_000_000.0
#: The pages are read every 15 minutes.
LATER = AT + 900.0
NONE = SlowCommands(0)


def monitor(
    reads: tuple[int, int] = (0, 0),
    writes: tuple[int, int] = (0, 0),
    *,
    age: float = 0.0,
    window: float | None = 6 * 3600.0,
    least: float = 0.005,
) -> DriveLatency:
    """A monitor with two buckets."""
    buckets = tuple(
        LatencyBucket(low, high, SlowCommands(read), SlowCommands(write), NONE)
        for low, high, read, write in (
            (least, 0.1, reads[0], writes[0]),
            (0.1, None, reads[1], writes[1]),
        )
    )
    return DriveLatency(True, True, buckets, buckets, active_seconds=age, window_seconds=window)


def test_commands_of_all_buckets_are_counted() -> None:
    before, after = monitor((5, 1), (7, 0), age=3600), monitor((8, 2), (7, 0), age=4500)
    grown = latency_growth(before, AT, after, LATER)
    assert LatencyGrowth(AT, LATER, 0.005, 4, 0) == grown


@pytest.mark.parametrize(("before_age", "age"), [(0, 900), (300, 900), (0, 1200), (3600, 4200)])
def test_the_age_of_the_window_is_known_in_steps_of_five_minutes(
    before_age: float, age: float
) -> None:
    grown = latency_growth(monitor(age=before_age), AT, monitor((2, 0), age=age), LATER)
    assert grown is not None
    assert 2 == grown.reads


@pytest.mark.parametrize("window", [None, 2400.0, 6 * 3600.0])
def test_windows_without_an_end_or_of_hours_can_be_compared(window: float | None) -> None:
    before, after = monitor(age=300, window=window), monitor(age=1200, window=window)
    assert latency_growth(before, AT, after, LATER) is not None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(DriveLatency(False), monitor(age=900), id="was off"),
        pytest.param(monitor(), DriveLatency(False), id="is off"),
        pytest.param(monitor(age=21_000), monitor((9, 9), age=300), id="a new window"),
        pytest.param(monitor(age=600), monitor(age=600), id="reset just after the reading"),
        pytest.param(monitor(age=300, window=2100), monitor(age=1200, window=2100), id="short"),
        pytest.param(monitor(), monitor(age=900, window=7200), id="another window"),
        pytest.param(monitor(), monitor(age=900, least=0.01), id="other limits"),
        pytest.param(monitor((4, 0)), monitor((3, 5), age=900), id="a counter decreased"),
        pytest.param(monitor(), monitor((2**32 - 1, 0), age=900), id="a counter has ended"),
        pytest.param(monitor(), monitor(age=18_000), id="an age that does not fit"),
    ],
)
def test_counters_that_do_not_tell_it_yield_nothing(
    before: DriveLatency, after: DriveLatency
) -> None:
    assert latency_growth(before, AT, after, LATER) is None


@pytest.mark.parametrize("at", [AT, AT - 900.0])
def test_a_clock_that_was_set_back_yields_nothing(at: float) -> None:
    assert latency_growth(monitor(), AT, monitor(age=900), at) is None


def test_the_previous_window_is_not_counted() -> None:
    after = monitor(age=900)
    static = replace(after, static=monitor((50, 0)).active)
    grown = latency_growth(monitor(), AT, static, LATER)
    assert grown is not None
    assert 0 == grown.reads
