"""Tests of `io.slowdown`: heat, a slow link and a full write cache."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter.io.slowdown import slowdown_verdict
from exporter.io.verdict import Verdict

MB = 1e6


def test_without_another_cause_it_is_the_write_cache() -> None:
    assert Verdict.WRITE_CACHE is slowdown_verdict()
    cool = slowdown_verdict(
        bytes_per_second=112 * MB,
        temperature_celsius=45,
        warning_celsius=70,
        over_temperature_seconds=0,
        link_bytes_per_second=600 * MB,
        link_max_bytes_per_second=600 * MB,
    )
    assert Verdict.WRITE_CACHE is cool


def test_a_gradual_decline_without_evidence_has_no_cause() -> None:
    assert slowdown_verdict(is_sudden=False) is None


def test_heat_is_detected_from_the_count_or_the_temperature() -> None:
    assert Verdict.THERMAL is slowdown_verdict(over_temperature_seconds=60)
    assert Verdict.THERMAL is slowdown_verdict(temperature_celsius=70, warning_celsius=70)
    assert Verdict.WRITE_CACHE is slowdown_verdict(temperature_celsius=59, warning_celsius=70)
    assert Verdict.WRITE_CACHE is slowdown_verdict(temperature_celsius=90)


def test_a_drive_just_below_its_warning_may_already_be_slower_because_of_heat() -> None:
    """Drives that throttle 3 to 10 K below their own warning are known."""
    assert slowdown_verdict(temperature_celsius=69, warning_celsius=70) is None
    gradual = slowdown_verdict(temperature_celsius=69, warning_celsius=70, is_sudden=False)
    assert Verdict.THERMAL is gradual


@pytest.mark.parametrize(("speed", "line"), [(120, 150), (240, 300), (480, 600)])
def test_a_full_link_below_its_maximum_is_the_cause(speed: float, line: float) -> None:
    """A SATA drive wrote at 80 % of the line rate at 1.5 and at 3 Gb/s."""
    found = slowdown_verdict(
        bytes_per_second=speed * MB,
        link_bytes_per_second=line * MB,
        link_max_bytes_per_second=2 * line * MB,
    )
    assert Verdict.LINK is found


def test_a_slow_link_that_is_not_full_is_not_the_cause() -> None:
    """A line rate of 300 MB/s carried 240 MB/s into the cache and 100 MB/s after it."""
    found = slowdown_verdict(
        bytes_per_second=100 * MB,
        link_bytes_per_second=300 * MB,
        link_max_bytes_per_second=600 * MB,
    )
    assert Verdict.WRITE_CACHE is found


NUMBERS = st.none() | st.floats()

UNKNOWN: dict[str, float | None] = {
    "bytes_per_second": None,
    "temperature_celsius": None,
    "warning_celsius": None,
    "over_temperature_seconds": None,
    "link_bytes_per_second": None,
    "link_max_bytes_per_second": None,
}

FIGURES = st.fixed_dictionaries(dict.fromkeys(UNKNOWN, NUMBERS))


@given(FIGURES, st.booleans())
@example(UNKNOWN | {"temperature_celsius": 65.0, "warning_celsius": 70.0}, True)
def test_only_a_gradual_decline_or_a_drive_just_below_its_warning_may_have_no_cause(
    figures: dict[str, float | None], is_sudden: bool
) -> None:
    found = slowdown_verdict(
        bytes_per_second=figures["bytes_per_second"],
        temperature_celsius=figures["temperature_celsius"],
        warning_celsius=figures["warning_celsius"],
        over_temperature_seconds=figures["over_temperature_seconds"],
        link_bytes_per_second=figures["link_bytes_per_second"],
        link_max_bytes_per_second=figures["link_max_bytes_per_second"],
        is_sudden=is_sudden,
    )
    if is_sudden and found is None:
        temperature, warning = figures["temperature_celsius"], figures["warning_celsius"]
        assert temperature is not None
        assert warning is not None
        assert warning - 10 <= temperature < warning
    else:
        assert found in {Verdict.THERMAL, Verdict.LINK, Verdict.WRITE_CACHE if is_sudden else None}
