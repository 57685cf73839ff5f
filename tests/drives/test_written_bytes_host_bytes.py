"""Whether the unit of a drive's written bytes can be right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.written_bytes import unit_matches_kernel

HOUR = 3600.0
MIB, GIB = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("smart", "unit", "kernel", "expected"),
    [
        (100 * GIB, GIB, 100 * GIB, True),
        (99 * GIB, GIB, 100 * GIB, True),
        (50 * GIB, GIB, 100 * GIB, True),
        (200 * GIB, GIB, 100 * GIB, True),
        (49 * GIB, GIB, 100 * GIB, False),
        (201 * GIB, GIB, 100 * GIB, False),
    ],
)
def test_both_counts_agree_within_a_factor_of_two(
    smart: int, unit: int, kernel: int, expected: bool
) -> None:
    assert expected is unit_matches_kernel(smart, unit, kernel, HOUR)


@pytest.mark.parametrize(
    ("true_unit", "believed_unit"), [(MIB * 32, GIB), (GIB, MIB * 32), (512, GIB), (GIB, 512)]
)
def test_a_wrong_unit_shows(true_unit: int, believed_unit: int) -> None:
    """Whichever is the larger: the kernel's count is enough where SMART's hardly moved."""
    kernel = 100 * GIB
    counted = kernel // true_unit
    assert unit_matches_kernel(counted * believed_unit, believed_unit, kernel, HOUR) is False
    assert unit_matches_kernel(counted * true_unit, true_unit, kernel, HOUR) is True


@pytest.mark.parametrize(
    ("smart", "kernel", "seconds"),
    [
        (100 * GIB, 100 * GIB, HOUR - 1),  # drives refresh their counters once an hour
        (19 * GIB, 19 * GIB, HOUR),  # the rounding is too much of it
        (0, 0, HOUR),
        (100 * GIB, 0, HOUR),  # somebody else wrote
        (-GIB, 100 * GIB, HOUR),  # the counter went back
        (100 * GIB, -GIB, HOUR),
    ],
)
def test_too_little_growth_tells_nothing(smart: int, kernel: int, seconds: float) -> None:
    assert unit_matches_kernel(smart, GIB, kernel, seconds) is None


@given(st.integers(), st.integers(), st.integers(), st.floats(allow_nan=False))
def test_any_numbers_have_an_answer(smart: int, unit: int, kernel: int, seconds: float) -> None:
    assert unit_matches_kernel(smart, unit, kernel, seconds) in (True, False, None)


@given(st.integers(21, 10**6), st.sampled_from([512, 512_000, MIB * 32, GIB]), st.floats(0, 0.99))
def test_the_right_unit_is_never_called_wrong(units: int, unit: int, begun: float) -> None:
    """The counter starts anywhere within a step."""
    kernel = units * unit
    counted = int(begun + units)
    assert unit_matches_kernel(counted * unit, unit, kernel, HOUR) is True
