"""Series of stories, as a scrape sees them."""

import re

import pytest

from rigs.engines.samples import Scrapes, grows, is_time, sampled, segments
from rigs.engines.stories import seconds


def scraped(values: str, scrapes: Scrapes, *, is_linear: bool = True, start: float = 0.0) -> str:
    """The values of a series with samples every 30 seconds; `_` for each tick without a sample."""
    text = sampled(segments(values, start), 30, scrapes, is_linear=is_linear)
    return re.sub(r"_x(\d+)", lambda match: " ".join("_" * int(match[1])), text)


def test_a_scrape_between_two_samples_sees_a_part_of_the_growth() -> None:
    assert "_ 10 _ _ 40 _ _ 60" == scraped("0+30x2", Scrapes(30, 10))


def test_a_value_that_does_not_grow_stays_until_the_next_sample() -> None:
    assert "_ 0 _ _ 1 _ _ 1" == scraped("0 1x1", Scrapes(30, 10), is_linear=False)


def test_a_value_that_jumps_is_not_interpolated() -> None:
    assert "_ 0 _ _ 300" == scraped("0 300", Scrapes(30, 10))


def test_a_longer_interval_leaves_samples_out() -> None:
    assert "_ 20 _ _ 80 _ _ 140" == scraped("0+30x5", Scrapes(60, 20))


def test_a_series_that_ends_becomes_stale_at_the_next_scrape() -> None:
    assert "_ 1 _ _ stale _ _ _ _ _ 1" == scraped("1 _x2 1", Scrapes(30, 10))


def test_a_lost_scrape_leaves_a_gap_and_no_marker() -> None:
    assert "_ 1 _ _ _ _ _ 1" == scraped("1x2", Scrapes(30, 10, lost=1))


def test_times_begin_when_the_program_begins() -> None:
    assert "940 970" == scraped("-60+30x1", Scrapes(30, 0), start=1000.0)


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ('ssd_disk_saturated_seconds_total{device="sda"}', True),
        ('ssd_disk_read_await_seconds_bucket{le="1"}', True),
        ('ssd_sampler_last_sample_timestamp_seconds{instance="db1"}', True),
        ('ssd_smart_media_errors_total{device="sda"}', False),
        ('ssd_disk_write_falloff_events_total{device="sda"}', False),
        ('ssd_device_info{model="a_seconds_total"}', False),
    ],
)
def test_only_counters_of_time_and_work_grow_between_samples(series: str, expected: bool) -> None:
    assert expected == grows(series)


def test_a_value_that_is_not_understood_is_reported() -> None:
    with pytest.raises(ValueError, match="not understood"):
        segments("1 x 2")


def test_times_are_recognised_by_their_name() -> None:
    assert is_time('ssd_survey_last_success_timestamp_seconds{instance="db1"}')
    assert not is_time('ssd_disk_saturated_seconds_total{instance="db1"}')


def test_a_duration_may_have_several_units() -> None:
    assert 5400 == seconds("1h30m")
