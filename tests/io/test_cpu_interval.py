"""What the CPUs did between two samples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.io.interval import CpuShare, cpu_interval
from exporter.linux.proc_stat import CpuTimes

NONE = CpuTimes(*[0.0] * 8)

_TIMES = st.builds(CpuTimes, *[st.floats(0, 1e9)] * 8)
_CPUS = st.dictionaries(st.integers(0, 5), _TIMES)


def test_shares_are_of_the_time_that_passed_on_each_cpu() -> None:
    """Also where a tick more or less fell into the interval."""
    now = {
        0: NONE._replace(user=0.03, system=0.29, idle=0.06, softirq=0.50, irq=0.12),
        1: NONE._replace(user=0.5, iowait=0.25, idle=0.25),
    }
    interval = cpu_interval({0: NONE, 1: NONE}, now)
    assert interval is not None
    assert pytest.approx(CpuShare(0.62, 0.0, 0.06)) == interval.cpus[0]
    assert pytest.approx(CpuShare(0.0, 0.25, 0.25)) == interval.cpus[1]
    assert pytest.approx(CpuShare(0.31, 0.125, 0.155)) == interval.host
    assert (0, 0.25) == (interval.hottest, interval.iowait_max)


def test_a_time_that_went_back_counts_as_none() -> None:
    then = NONE._replace(iowait=5.0, idle=100.0)
    interval = cpu_interval({0: then}, {0: then._replace(iowait=4.0, idle=100.5, user=0.5)})
    assert interval is not None
    assert pytest.approx(CpuShare(0.0, 0.0, 0.5)) == interval.cpus[0]


def test_a_cpu_that_came_or_went_is_left_out() -> None:
    now = NONE._replace(user=1.0)
    interval = cpu_interval({0: NONE, 1: NONE}, {0: now, 2: now})
    assert interval is not None
    assert {0} == interval.cpus.keys()


@pytest.mark.parametrize(
    ("then", "now"), [({}, {}), ({}, {0: NONE}), ({0: NONE}, {}), ({0: NONE}, {0: NONE})]
)
def test_without_time_passed_there_is_nothing_to_say(
    then: dict[int, CpuTimes], now: dict[int, CpuTimes]
) -> None:
    assert cpu_interval(then, now) is None


@given(_CPUS, _CPUS)
def test_shares_are_ratios_whatever_the_counters_do(
    then: dict[int, CpuTimes], now: dict[int, CpuTimes]
) -> None:
    interval = cpu_interval(then, now)
    if interval is None:
        return
    for share in (interval.host, *interval.cpus.values()):
        assert 0 <= min(share)
        assert sum(share) <= 1 + 1e-9
    assert interval.hottest in interval.cpus
