"""The speeds of a simulated write cache, as the kernel counted them."""

import pytest

from rigs.devices.write_cache import WriteCache


def progress(*phases: tuple[float, float]) -> list[tuple[float, int]]:
    """Returns the bytes written every quarter of a second. A phase has seconds and a speed."""
    points, written = [(0.0, 0)], 0.0
    for seconds, speed in phases:
        for _ in range(round(seconds * 4)):
            written += speed / 4
            points.append((len(points) / 4, round(written)))
    return points


def test_the_ratio_is_that_of_the_first_burst_and_of_the_speed_after_it() -> None:
    """Idle times and the burst after a recovery are not part of it."""
    points = progress((1, 0), (5, 36e6), (5, 12e6), (2, 0), (4, 40e6), (3, 10e6))
    assert pytest.approx(1 / 3) == WriteCache(2, 1, points, [6.0, 13.0, 17.0]).falloff_ratio()


def test_a_short_stall_does_not_change_the_ratio() -> None:
    points = progress((5, 40e6), (0.25, 0), (3, 40e6), (8, 12e6))
    assert pytest.approx(0.3) == WriteCache(1, 0, points, [8.25]).falloff_ratio()
