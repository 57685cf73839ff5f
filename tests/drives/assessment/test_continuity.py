"""Counters that fall or jump: a report is held back until further polls confirm it."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.drives.assessment.continuity import Continuity
from exporter.drives.health import (
    DriveHealth,
    Endurance,
    EnduranceSource,
    RejectionKind,
    UnitSource,
    WrittenBytes,
)
from exporter.drives.smart_report import parse_report
from tests.drives.assessment.test_log_judgement import printed
from tests.drives.reports import Report, nvme
from tests.fuzz import examples

LOG = "nvme_smart_health_information_log"
MINUTE, DAY = 60.0, 86_400.0


def written(number: int, unit: int = 512_000) -> WrittenBytes:
    return WrittenBytes(number, unit, UnitSource.STANDARD)


def worn(ratio: float, source: EnduranceSource = EnduranceSource.NVME_LOG) -> Endurance:
    return Endurance(ratio, source)


GOOD = DriveHealth(
    healthy=True,
    endurance=worn(0.4),
    spare_ratio=1.0,
    temperatures={"drive": 40.0},
    host_read=written(10**13),
    host_written=written(10**13),
    media_errors=3,
    error_log_entries=90,
    power_on_seconds=8760 * 3600.0,
    power_cycles=31,
    unsafe_shutdowns=7,
    controller_busy_seconds=36_000.0,
    corrected_errors={"retry": 5},
)


def changed(**values: Any) -> DriveHealth:
    return dataclasses.replace(GOOD, **values)


def polled(*reports: DriveHealth, seconds: float = MINUTE) -> list[DriveHealth]:
    """What is used of each report, polled in this order."""
    continuity = Continuity()
    return [
        continuity.checked(report, 1.8e9 + number * seconds)
        for number, report in enumerate(reports)
    ]


#: Counters that fall, and that jump by more than a minute allows.
FALLEN: list[tuple[str, Any]] = [
    ("endurance", worn(0.1)),
    ("host_read", written(10**12)),
    ("host_written", written(10**12)),
    ("media_errors", 0),
    ("error_log_entries", 0),
    ("power_on_seconds", 8759 * 3600.0),
    ("power_cycles", 30),
    ("unsafe_shutdowns", 0),
    ("controller_busy_seconds", 0.0),
    ("corrected_errors", {"retry": 0}),
]
JUMPED: list[tuple[str, Any]] = [
    ("endurance", worn(0.6)),
    ("host_read", written(10**15)),
    ("host_written", written(10**15)),
    ("media_errors", 3_000_000),
    ("error_log_entries", 3_000_000),
    ("power_on_seconds", 8764 * 3600.0),
    ("power_cycles", 100),
    ("unsafe_shutdowns", 100),
    ("controller_busy_seconds", 72_000.0),
    ("corrected_errors", {"retry": 10**10}),
]


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        *((field, value, RejectionKind.FELL) for field, value in FALLEN),
        *((field, value, RejectionKind.JUMPED) for field, value in JUMPED),
    ],
)
def test_a_discontinuous_counter_holds_back_all_counters(
    field: str, value: Any, kind: RejectionKind
) -> None:
    before, held, after = polled(GOOD, changed(**{field: value}), GOOD)
    assert (GOOD, GOOD) == (before, after)
    assert [kind] == [each.kind for each in held.rejected]
    assert [None] * 5 == [
        getattr(held, name)
        for name in ("endurance", "host_written", "media_errors", "power_cycles", field)
    ] or (field == "corrected_errors" and {} == held.corrected_errors)
    # What is not a counter is used.
    assert (True, 1.0, {"drive": 40.0}) == (held.healthy, held.spare_ratio, held.temperatures)


def test_several_discontinuous_counters_hold_back_the_whole_report() -> None:
    other = changed(media_errors=0, power_cycles=2, healthy=False)
    before, held, after = polled(GOOD, other, GOOD)
    assert (GOOD, GOOD) == (before, after)
    assert "the SMART log is invalid: 2 counters do not continue" in held.unreadable
    assert (None, {}, None) == (held.healthy, held.temperatures, held.media_errors)
    assert {RejectionKind.LOG_INVALID, RejectionKind.FELL} == {e.kind for e in held.rejected}


@pytest.mark.parametrize(
    "other", [changed(media_errors=0), changed(media_errors=0, power_cycles=1)]
)
def test_three_polls_confirm_a_change(other: DriveHealth) -> None:
    """A secure erase or a new firmware sets counters back."""
    used = polled(GOOD, other, other, other, other, other)
    assert [False, True, True, False, False, False] == [bool(each.rejected) for each in used]
    assert other == used[-1]


def test_polls_that_differ_confirm_nothing() -> None:
    falling = [changed(media_errors=10_000_000 * number) for number in (9, 7, 5, 3, 2)]
    assert all(each.rejected for each in polled(GOOD, *falling)[1:])


def test_a_confirmed_counter_must_be_confirmed_in_successive_polls() -> None:
    low = changed(media_errors=0)
    used = polled(GOOD, low, low, GOOD, low, low, GOOD)
    assert [False, True, True, False, True, True, False] == [bool(e.rejected) for e in used]


def test_a_counter_that_jumps_always_is_no_longer_compared() -> None:
    reports = [changed(power_on_seconds=number * 20_000_000.0) for number in range(40)]
    assert not any(each.rejected for each in polled(*reports)[-20:])


@pytest.mark.parametrize("seconds", [MINUTE, 15 * MINUTE, DAY])
def test_the_growth_of_a_busy_drive_is_plausible(seconds: float) -> None:
    reports = [
        changed(
            host_read=written(10**13 + int(number * seconds * 14e9) // 512_000 * 512_000),
            host_written=written(10**13 + int(number * seconds * 12e9) // 512_000 * 512_000),
            power_on_seconds=8760 * 3600.0 + number * seconds // 3600 * 3600,
            controller_busy_seconds=36_000 + number * seconds // 60 * 60,
            media_errors=3 + int(number * seconds),
            endurance=worn(0.4 + min(number * seconds / DAY * 0.3, 1.0)),
        )
        for number in range(10)
    ]
    assert not any(each.rejected for each in polled(*reports, seconds=seconds))


def test_values_from_different_sources_are_not_compared() -> None:
    other = changed(
        endurance=worn(0.1, EnduranceSource.FAMILY_RULE), host_written=written(10**9, unit=512)
    )
    assert other == polled(GOOD, other)[1]


def test_wear_may_fall_by_two_percent() -> None:
    assert not polled(GOOD, changed(endurance=worn(0.38)))[1].rejected


def test_link_errors_of_a_sas_drive_restart_at_power_on() -> None:
    assert not polled(changed(interface_errors=5), changed(interface_errors=0))[1].rejected


def test_a_counter_that_is_missing_is_compared_when_it_returns() -> None:
    used = polled(GOOD, changed(media_errors=None), changed(media_errors=0))
    assert [False, False, True] == [bool(each.rejected) for each in used]


def test_a_clock_that_was_set_back_costs_nothing() -> None:
    continuity = Continuity()
    assert not continuity.checked(GOOD, 1.8e9).rejected
    later = changed(power_on_seconds=8761 * 3600.0, media_errors=4)
    assert not continuity.checked(later, 1.7e9).rejected


#: The counters of the NVMe log, and how they grow in a poll of a busy drive.
GROWTH = {
    "data_units_read": 800_000,
    "data_units_written": 400_000,
    "host_reads": 10**7,
    "host_writes": 10**6,
    "controller_busy_time": 1,
    "power_cycles": 1,
    "power_on_hours": 1,
    "unsafe_shutdowns": 1,
    "media_errors": 20,
    "num_err_log_entries": 9,
    "warning_temp_time": 1,
    "critical_comp_time": 1,
    "percentage_used": 1,
}


@st.composite
def plausible_logs(draw: st.DrawFn) -> list[Report]:
    """The logs of successive polls of a drive."""
    # The drive is older than its last self-test.
    log = {**nvme()[LOG], "power_on_hours": draw(st.integers(9_000, 60_000))}
    logs = [log]
    for _ in range(draw(st.integers(5, 9))):
        grown = {key: log[key] + draw(st.integers(0, most)) for key, most in GROWTH.items()}
        log = {**log, **grown}
        logs.append(log)
    return logs


@st.composite
def corrupted(draw: st.DrawFn, log: Report) -> Report:
    """The report of one poll that is damaged in a way that the counters show."""
    kind = draw(st.sampled_from(("bytes", "pattern", "zeros", "fall", "jump", "other")))
    if kind == "bytes":
        return printed(draw(st.randoms(use_true_random=False)).randbytes(512))
    if kind == "pattern":
        return printed(bytes([draw(st.integers(1, 255))]) * 512)
    if kind == "zeros":
        return printed(bytes(512))
    keys = sorted(GROWTH.keys() - {"host_reads", "host_writes"})
    if kind == "other":
        changed_keys = draw(st.sets(st.sampled_from(keys), min_size=2))
    else:
        changed_keys = {draw(st.sampled_from(keys))}
    factor = draw(st.sampled_from((10**6, 10**9))) if kind != "fall" else 0
    values = {key: log[key] // 2 if kind == "fall" else (log[key] + 1) * factor for key in keys}
    damaged = {**log, **{key: values[key] for key in changed_keys}}
    return {**nvme(), LOG: damaged}


def counters(health: DriveHealth) -> Iterator[tuple[str, float]]:
    for field in dataclasses.fields(health):
        value = getattr(health, field.name)
        if isinstance(value, WrittenBytes):
            yield field.name, float(value.bytes)
        elif field.name in COUNTERS and value is not None:
            yield field.name, float(value)


COUNTERS = {
    *("media_errors", "error_log_entries", "power_on_seconds", "power_cycles"),
    *("unsafe_shutdowns", "controller_busy_seconds", "over_temperature_warning_seconds"),
    "over_temperature_critical_seconds",
}


@settings(max_examples=examples(200))
@given(st.data())
def test_a_damaged_poll_changes_no_counter(data: st.DataObject) -> None:
    """No counter exceeds the true one or falls, and all are back after the damaged poll."""
    logs = data.draw(plausible_logs())
    damaged = data.draw(st.integers(1, len(logs) - 2))
    continuity, last = Continuity(), dict[str, float]()
    for number, log in enumerate(logs):
        true = parse_report({**nvme(), LOG: log}).health
        assert not true.rejected
        seen = data.draw(corrupted(log)) if number == damaged else {**nvme(), LOG: log}
        used = continuity.checked(parse_report(seen).health, 1.8e9 + number * MINUTE)
        exact = dict(counters(true))
        for name, value in counters(used):
            assert last.get(name, 0.0) <= value <= exact[name], name
            last[name] = value
        if number != damaged:
            assert true == used
