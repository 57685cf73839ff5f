"""The host's share of a probe's latency, by runs of fio whose disk statistics were published."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.io.interval import DiskInterval
from exporter.probe.fio_run import HostShareRules, host_share, is_host_limited
from tests.io.records import NEW, grown, over

RULES = HostShareRules()


def device(op: str, operations: int, seconds: float, others: int = 0) -> DiskInterval:
    """A window in which the device did so much in one direction, and `others` in the other."""
    other = "write" if op == "read" else "read"
    work = {
        f"{op}s_completed": operations,
        f"{op}_time_seconds": seconds,
        f"{other}s_completed": others,
        f"{other}_time_seconds": 0.1 * others,
    }
    return over(NEW, grown(NEW, **work), 1000.0)


@pytest.mark.parametrize(
    ("op", "probe", "disk", "expected"),
    [
        pytest.param(
            "write", (30_200_000, 4.238e-3), (30_170_065, 6428.786), 0.950, id="USB on a Pi"
        ),
        pytest.param(
            "read", (3_026_000, 42.29e-3), (756_532, 31953.025), 0.001, id="its device full"
        ),
        pytest.param(
            "write", (6_371_943, 4.8205e-3), (6_360_259, 30567.537), 0.003, id="fast NVMe"
        ),
    ],
)
def test_published_runs(
    op: Literal["read", "write"],
    probe: tuple[int, float],
    disk: tuple[int, float],
    expected: float,
) -> None:
    share = host_share(op, *probe, device(op, *disk), RULES)
    assert pytest.approx(expected, abs=0.001) == share
    assert (expected > 0.5) == is_host_limited(share, RULES)


def test_it_is_known_only_where_the_probe_made_half_of_the_operations() -> None:
    assert pytest.approx(0.5) == host_share("read", 500, 2e-3, device("read", 1000, 1.0), RULES)
    assert host_share("read", 499, 2e-3, device("read", 1000, 1.0), RULES) is None


def test_the_other_direction_counts_among_the_operations_and_not_in_the_await() -> None:
    busy = device("read", 500, 0.5, others=500)
    assert pytest.approx(0.5) == host_share("read", 500, 2e-3, busy, RULES)
    assert host_share("read", 500, 2e-3, device("read", 500, 0.5, others=501), RULES) is None


def test_a_device_slower_than_the_probe_saw_leaves_nothing_to_the_host() -> None:
    """The kernel's milliseconds round."""
    assert 0.0 == host_share("write", 200, 1e-4, device("write", 200, 0.021), RULES)


def test_it_is_not_known_where_either_did_nothing() -> None:
    assert host_share("read", 0, 1e-3, device("read", 0, 0.0), RULES) is None
    assert host_share("read", 100, 1e-3, device("write", 100, 0.1), RULES) is None
    assert host_share("read", 100, 0.0, device("read", 100, 0.1), RULES) is None
    assert not is_host_limited(None, RULES)


@given(
    st.sampled_from(["read", "write"]),
    st.tuples(st.integers(-1, 10**9), st.floats()),
    st.tuples(st.integers(0, 10**6), st.floats(0, 1e5), st.integers(0, 10**6)),
)
def test_a_share_lies_between_nothing_and_all(
    op: Literal["read", "write"], probe: tuple[int, float], disk: tuple[int, float, int]
) -> None:
    share = host_share(op, *probe, device(op, *disk), RULES)
    assert share is None or 0 <= share <= 1
