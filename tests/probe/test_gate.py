"""Tests whether a probe may start, and whether a running one must stop."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.config.gate_rules import GateRules
from exporter.probe.gate import GateState, GuardSample, Reason, Run, Skip, gate, guard

RULES = GateRules()
GIB = 1 << 30

#: A host at rest, with nothing wrong.
REST = GateState(
    host_uptime_seconds=86_400.0,
    writes=True,
    endurance_used_ratio=0.1,
    temperature_celsius=40.0,
    warning_celsius=70.0,
    needed_bytes=2 << 20,
    budget_bytes=GIB,
    size_bytes=1000 * GIB,
    avail_bytes=500 * GIB,
    avail_inodes=1_000_000,
    busy_ratio=0.1,
    pressure_ratio=0.01,
    cgroup_pressure_ratio=0.0,
)


def reason(**changes: object) -> Reason | None:
    found = gate(replace(REST, **changes), RULES)  # type: ignore[arg-type]
    return found.reason if isinstance(found, Skip) else None


def test_an_idle_host_is_probed() -> None:
    assert Run(minimal=False) == gate(REST, RULES)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"is_unacknowledged": True}, Reason.UNACKNOWLEDGED),
        ({"is_stuck": True}, Reason.STUCK),
        ({"is_locked": True}, Reason.LOCKED),
        ({"unsuitable": "tmpfs is in memory"}, Reason.FILESYSTEM),
        ({"host_uptime_seconds": 599.0}, Reason.TOO_EARLY),
        ({"is_rebuilding": True}, Reason.REBUILDING),
        ({"endurance_used_ratio": 0.8}, Reason.WORN),
        ({"temperature_celsius": 65.0}, Reason.HOT),
        ({"temperature_celsius": 65.0, "warning_celsius": None}, Reason.HOT),
        ({"avail_bytes": 99 * GIB}, Reason.NO_SPACE),
        ({"avail_bytes": 101 * GIB, "missing_bytes": 2 * GIB}, Reason.NO_SPACE),
        ({"avail_bytes": 4 * GIB, "size_bytes": 8 * GIB}, Reason.NO_SPACE),
        ({"avail_inodes": 3}, Reason.NO_SPACE),
        ({"budget_bytes": (2 << 20) - 1}, Reason.BUDGET),
        ({"budget_bytes": None}, Reason.BUDGET),
        ({"busy_ratio": None}, Reason.UNOBSERVED),
        ({"unguarded": "mysqld cannot be observed"}, Reason.UNOBSERVED),
        ({"busy_ratio": 0.61}, Reason.BUSY),
        ({"busy_ratio": math.nan}, Reason.BUSY),
        ({"pressure_ratio": 0.11}, Reason.PRESSURE),
        ({"cgroup_pressure_ratio": 0.06}, Reason.CGROUP_PRESSURE),
    ],
)
def test_each_condition_gives_its_reason(changes: dict[str, object], expected: Reason) -> None:
    assert expected == reason(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"endurance_used_ratio": None},
        {"temperature_celsius": None},
        {"temperature_celsius": 66.0, "warning_celsius": 80.0},
        {"size_bytes": None},
        {"avail_bytes": None, "avail_inodes": None},
        {"pressure_ratio": None, "cgroup_pressure_ratio": None},
        {"host_uptime_seconds": None},
        {"writes": False, "endurance_used_ratio": 1.2},
        {"writes": False, "needed_bytes": 0, "budget_bytes": 0},
    ],
)
def test_unknown_and_irrelevant_values_do_not_prevent_a_probe(changes: dict[str, object]) -> None:
    assert reason(**changes) is None


def test_an_on_demand_probe_ignores_the_delay_after_a_start() -> None:
    assert reason(is_on_demand=True, host_uptime_seconds=10.0) is None
    assert Reason.BUSY == reason(is_on_demand=True, busy_ratio=0.9)


def test_a_host_that_is_always_busy_gets_a_minimal_run() -> None:
    busy = replace(REST, busy_ratio=0.99, pressure_ratio=0.8)
    most = RULES.forced_after_skips
    assert isinstance(gate(replace(busy, skips=most - 1), RULES), Skip)
    assert Run(minimal=True) == gate(replace(busy, skips=most), RULES)


@pytest.mark.parametrize("expected", Reason)
def test_only_skips_for_load_lead_to_a_minimal_run(expected: Reason) -> None:
    load = {Reason.BUSY, Reason.PRESSURE, Reason.CGROUP_PRESSURE}
    assert (expected in load) == Skip(expected, "").is_for_load
    for changes in ({"temperature_celsius": 90.0}, {"is_rebuilding": True}, {"budget_bytes": 0}):
        forced = replace(REST, busy_ratio=1.0, skips=1000, **changes)
        assert isinstance(gate(forced, RULES), Skip)


def test_lasting_reasons_come_before_temporary_ones() -> None:
    assert Reason.UNACKNOWLEDGED == reason(is_unacknowledged=True, is_locked=True, busy_ratio=1.0)
    assert Reason.FILESYSTEM == reason(unsuitable="nfs", host_uptime_seconds=5.0, busy_ratio=1.0)


def test_the_message_contains_the_value_and_the_limit() -> None:
    found = gate(replace(REST, busy_ratio=0.93), RULES)
    assert Skip(Reason.BUSY, "device busy in the last minute: 93%; the limit is 60%") == found


_FLOATS = st.none() | st.floats()
_SIZES = st.none() | st.integers(-(1 << 70), 1 << 70)


@given(
    st.builds(
        GateState,
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.sampled_from(["", "nfs"]),
        st.floats(),
        _FLOATS,
        st.booleans(),
        _FLOATS,
        _FLOATS,
        _FLOATS,
        st.integers(0, 1 << 40),
        _SIZES,
        st.integers(0, 1 << 40),
        _SIZES,
        _SIZES,
        _SIZES,
        _FLOATS,
        _FLOATS,
        _FLOATS,
        st.integers(0, 100),
    )
)
def test_every_state_is_a_run_or_a_skip_with_a_message(state: GateState) -> None:
    found = gate(state, RULES)
    if isinstance(found, Skip):
        assert found.detail
    else:
        assert state.busy_ratio is not None
        assert state.unsuitable == ""
        assert not any((state.is_unacknowledged, state.is_stuck, state.is_locked))
        assert found.minimal <= (state.skips >= RULES.forced_after_skips)
        assert state.needed_bytes == 0 or (state.budget_bytes or 0) >= state.needed_bytes


CALM = GuardSample(in_flight=1, cgroup_pressure_ratio=0.0)


def held(**changes: object) -> Reason | None:
    """Returns the result of the guard for a sample that is repeated `guard_samples` times."""
    sample = replace(CALM, **changes)  # type: ignore[arg-type]
    return guard([sample] * RULES.guard_samples, RULES)


def test_the_guard_does_not_end_an_undisturbed_run() -> None:
    assert held() is None
    assert guard([], RULES) is None
    assert guard([GuardSample()] * 10, RULES) is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"in_flight": 9}, Reason.BUSY),
        ({"in_flight": 8}, None),
        ({"in_flight": 15, "own_in_flight": 8}, None),
        ({"cgroup_pressure_ratio": 0.5}, Reason.CGROUP_PRESSURE),
        ({"server_waiting_ratio": 0.8}, Reason.CGROUP_PRESSURE),
        ({"server_waiting_ratio": 0.6}, None),
        ({"temperature_celsius": 66.0}, Reason.HOT),
        ({"avail_bytes": 2 * GIB}, Reason.NO_SPACE),
    ],
)
def test_a_run_ends_when_production_needs_the_device(
    changes: dict[str, object], expected: Reason | None
) -> None:
    assert expected == held(**changes)


@pytest.mark.parametrize("field", ["cgroup_pressure_ratio", "server_waiting_ratio"])
def test_a_server_may_wait_for_the_cpu_in_one_of_four_samples(field: str) -> None:
    waits, other = (replace(CALM, **{field: ratio}) for ratio in (0.9, 0.1))  # type: ignore[arg-type]
    assert Reason.CGROUP_PRESSURE == guard([waits, waits, other, waits], RULES)
    assert Reason.CGROUP_PRESSURE == guard([waits, other, waits, waits], RULES)
    assert guard([waits, other, other, waits], RULES) is None
    assert guard([waits, other, waits], RULES) is None
    assert guard([waits, other, other, waits, waits], RULES) is None, "only the last four count"


def test_different_signs_of_a_waiting_server_add_up() -> None:
    """A server waits in one sample, and its requests fill the queue in another one."""
    pressed = replace(CALM, cgroup_pressure_ratio=0.6)
    waits = replace(CALM, server_waiting_ratio=0.8)
    full = replace(CALM, in_flight=64)
    assert Reason.CGROUP_PRESSURE == guard([pressed, full, CALM, waits], RULES)
    assert guard([full, CALM, full, full], RULES) is None, "no server waits"
    assert guard([pressed, CALM, CALM, full], RULES) is None


def test_load_must_last_for_several_samples_and_harm_does_not() -> None:
    assert guard([CALM, CALM, replace(CALM, in_flight=64)], RULES) is None
    assert guard([replace(CALM, in_flight=64)] * 2, RULES) is None
    assert Reason.HOT == guard([replace(CALM, temperature_celsius=80.0)], RULES)


@given(
    st.lists(
        st.builds(
            GuardSample,
            st.none() | st.integers(),
            st.integers(),
            _FLOATS,
            _FLOATS,
            _FLOATS,
            _SIZES,
        )
    )
)
def test_any_samples_are_judged(samples: list[GuardSample]) -> None:
    found = guard(samples, RULES)
    assert found is None or found in Reason
