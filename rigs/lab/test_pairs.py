"""The evaluation of `make pairs` and `make guard`."""

from math import exp

import pytest

from rigs.lab import guard, pairs
from rigs.lab.guard import Case
from rigs.lab.mariadb import parse_load
from rigs.lab.pairs import Phase

#: Shortened output of sysbench 1.0.20.
SAID = """\
[ 1s ] thds: 8 tps: 12.00 qps: 96.0 lat (ms,99%): 1.2
[ 2s ] thds: 8 tps: 0.00 qps: 0.0 lat (ms,99%): 0.00
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.977 |****************************             10
    1069.860 |**                                       3
Latency (ms):
         max:                                 1100.00
         99th percentile:                     1069.86
"""


def phase(*, is_on: bool, transactions: float = 100.0, slow: int = 0) -> Phase:
    return Phase(is_on, transactions, 0.01, slow, 0)


def test_output_of_sysbench() -> None:
    found = parse_load(SAID)
    assert [12.0, 0.0] == found.per_second
    assert 1 == found.idle_seconds
    assert 3 == found.slow
    assert 1.06986 == pytest.approx(found.p99_seconds)
    with pytest.raises(ValueError, match="no percentile"):
        parse_load("FATAL: unable to connect")


def test_states_alternate_so_that_a_drift_affects_both_alike() -> None:
    assert [True, False, False, True, True, False] == pairs.order(3)


def test_pairs_and_controls() -> None:
    phases = [phase(is_on=is_on) for is_on in [*pairs.order(4), False, False]]
    assert [(True, False)] * 4 == [(a.is_on, b.is_on) for a, b in pairs.pairs_of(phases)]
    # One at the border of the first two pairs, one of the next two, one at the end.
    assert [(False, False)] * 3 == [(a.is_on, b.is_on) for a, b in pairs.controls_of(phases)]


def test_a_difference_has_an_interval() -> None:
    found = pairs.difference([0.0, 1.0] * 10)
    assert 0.5 == found.mean
    assert 0.2 < found.lower < 0.4
    assert 0.6 < found.upper < 0.8


def test_relative_differences_are_geometric_means() -> None:
    """Of a factor of e and of 1/e, the mean is no difference."""
    phases = [
        *(phase(is_on=True, transactions=exp(1)), phase(is_on=False, transactions=1.0)),
        *(phase(is_on=False, transactions=exp(1)), phase(is_on=True, transactions=1.0, slow=2)),
    ]
    row = pairs.table(phases).splitlines()[2]
    assert "| 2 | +0.0 % " in row
    assert "2 against 0; +1.00" in row


def test_table_of_the_guard() -> None:
    cases = [
        Case("slc", True, False, seconds, 0.5, "aborted cgroup_pressure", 0.25)
        for seconds in (1, 2)
    ]
    row = guard.table([*cases, Case("slc", True, False, None, None, "refused")]).splitlines()[2]
    assert "| `slc` | no | during | 3 | 1.5 / 2.0 s | 50% (least 50%) |" in row
    assert "| 2 aborted cgroup_pressure, 1 refused | 17% |" in row
