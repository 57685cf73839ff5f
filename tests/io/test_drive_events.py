"""The events of drives: what is recorded, what is kept, and how damaged state is read."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.health import DriveHealth, SelfTest
from exporter.drives.watched_drive import WatchedDrive
from exporter.io.drive_events import KEPT_DAYS, DriveEvent, DriveEvents, EventKind
from exporter.io.verdict import Verdict

DAY = 86400.0
NOON = 20_000 * DAY + DAY / 2
DISKS = {"sda": "Vendor S1", "sdb": "Vendor S2"}
GOOD = DriveHealth(
    healthy=True,
    media_errors=3,
    interface_errors=0,
    unsafe_shutdowns=6,
    power_on_seconds=9e6,
    self_test=SelfTest(True, 1e6),
)


def drive(health: DriveHealth | None = GOOD) -> list[WatchedDrive]:
    return [WatchedDrive("sda", "S1", "/dev/sda", health=health)]


@pytest.fixture
def events() -> DriveEvents:
    events = DriveEvents()
    events.observe(NOON, DISKS, drive(), {})
    return events


def kinds(events: DriveEvents, name: str = "sda") -> list[tuple[EventKind, int]]:
    return [(event.kind, event.count) for event in events.of(DISKS[name], name)]


def test_the_first_observation_is_no_event(events: DriveEvents) -> None:
    assert {} == events.to_state()
    events.observe(NOON + 60, DISKS, drive(), {})
    assert {} == events.to_state()


def test_a_drive_disappears_and_returns(events: DriveEvents) -> None:
    events.observe(NOON + 60, {"sdb": "Vendor S2"}, [], {})
    assert [DriveEvent(20_000, EventKind.MISSING, 1)] == list(events.of("", "sda"))
    events.observe(NOON + DAY, DISKS, drive(), {})
    assert [(EventKind.MISSING, 1), (EventKind.RETURNED, 1)] == kinds(events)


def test_a_drive_that_replaces_another_one_is_new(events: DriveEvents) -> None:
    events.observe(NOON + 60, {**DISKS, "sdb": "Vendor S9"}, drive(), {})
    assert [EventKind.NEW] == [event.kind for event in events.of("Vendor S9", "sdb")]
    assert [(EventKind.MISSING, 1)] == kinds(events, "sdb")


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (replace(GOOD, media_errors=5), (EventKind.MEDIA_ERRORS, 2)),
        (replace(GOOD, interface_errors=1), (EventKind.LINK_ERRORS, 1)),
        (replace(GOOD, unsafe_shutdowns=7), (EventKind.POWER_LOSS, 1)),
        (replace(GOOD, healthy=False), (EventKind.FAILING, 1)),
        (replace(GOOD, self_test=SelfTest(False, 2e6)), (EventKind.SELF_TEST, 1)),
        (replace(GOOD, power_on_seconds=10.0), (EventKind.RESET, 1)),
    ],
)
def test_a_change_of_the_health_is_an_event(
    events: DriveEvents, after: DriveHealth, expected: tuple[EventKind, int]
) -> None:
    events.observe(NOON + 60, DISKS, drive(after), {})
    events.observe(NOON + 120, DISKS, drive(after), {})
    assert [expected] == kinds(events)


def test_unknown_values_are_no_event(events: DriveEvents) -> None:
    events.observe(NOON + 60, DISKS, drive(DriveHealth()), {})
    events.observe(NOON + 120, DISKS, drive(None), {})
    events.observe(NOON + 180, DISKS, drive(replace(GOOD, media_errors=90)), {})
    assert [] == kinds(events)


def test_events_of_a_day_are_counted_together(events: DriveEvents) -> None:
    for errors in (4, 5, 6):
        events.observe(NOON + errors, DISKS, drive(replace(GOOD, media_errors=errors)), {})
    events.observe(NOON + DAY, DISKS, drive(replace(GOOD, media_errors=7)), {})
    assert [(EventKind.MEDIA_ERRORS, 3), (EventKind.MEDIA_ERRORS, 1)] == kinds(events)


def test_a_bottleneck_of_five_minutes_is_one_event(events: DriveEvents) -> None:
    for seconds in range(0, 1200, 60):
        events.observe(NOON + seconds, DISKS, drive(), {"sda": Verdict.THERMAL})
    assert [(EventKind.THERMAL, 1)] == kinds(events)
    events.observe(NOON + 1200, DISKS, drive(), {"sda": Verdict.NONE})
    for seconds in range(1260, 1800, 60):
        events.observe(NOON + seconds, DISKS, drive(), {"sda": Verdict.THERMAL})
    assert [(EventKind.THERMAL, 2)] == kinds(events)


def test_a_short_or_unknown_bottleneck_is_no_event(events: DriveEvents) -> None:
    for seconds in range(0, 3600, 60):
        verdict = Verdict.DEVICE if seconds // 240 % 2 else Verdict.NONE
        events.observe(NOON + seconds, DISKS, [], {"sda": verdict, "sdb": Verdict.UNKNOWN})
    assert {} == events.to_state()


def test_events_survive_a_restart_and_end_after_400_days(events: DriveEvents) -> None:
    events.observe(NOON + 60, DISKS, drive(replace(GOOD, media_errors=4)), {})
    restored = DriveEvents(events.to_state())
    assert events.of("Vendor S1", "sda") == restored.of("Vendor S1", "sda")
    late = NOON + (KEPT_DAYS + 1) * DAY
    restored.observe(late, DISKS, drive(), {})
    restored.observe(late, DISKS, drive(replace(GOOD, media_errors=9)), {})
    assert [20_000 + KEPT_DAYS + 1] == [event.day for event in restored.of("Vendor S1", "sda")]


@pytest.mark.parametrize("step", [3600, -3600, 2 * DAY, -2 * DAY, -200 * DAY])
def test_no_event_is_lost_or_invented_when_the_clock_steps(
    events: DriveEvents, step: float
) -> None:
    events.observe(NOON + 60, DISKS, drive(replace(GOOD, media_errors=4)), {}, now=60)
    events.observe(NOON + 90, DISKS, drive(), {"sda": Verdict.THERMAL}, now=90)
    at = NOON + 120 + step
    events.observe(at, DISKS, drive(), {"sda": Verdict.THERMAL}, now=120)
    assert [(EventKind.MEDIA_ERRORS, 1)] == kinds(events), "30 s are no bottleneck"
    events.observe(at + 30, DISKS, drive(replace(GOOD, media_errors=9)), {}, now=150)
    assert 1 + 6 == sum(count for _, count in kinds(events))
    restored = DriveEvents(events.to_state())
    assert kinds(events) == kinds(restored)


@pytest.mark.parametrize("step", [3600, -3600, 2 * DAY, -2 * DAY])
def test_a_bottleneck_counts_after_five_minutes_in_spite_of_a_step(
    events: DriveEvents, step: float
) -> None:
    events.observe(NOON, DISKS, drive(), {"sda": Verdict.THERMAL}, now=0)
    events.observe(NOON + step + 299, DISKS, drive(), {"sda": Verdict.THERMAL}, now=299)
    assert [] == kinds(events)
    events.observe(NOON + step + 301, DISKS, drive(), {"sda": Verdict.THERMAL}, now=301)
    assert [(EventKind.THERMAL, 1)] == kinds(events)


def test_memory_and_state_are_bounded() -> None:
    events = DriveEvents({f"drive {n}": [[n, "missing", 1]] for n in range(2000)})
    assert 256 == len(events.to_state())
    assert "drive 1999" in events.to_state()
    observed = DriveEvents()
    for day in range(390):
        health = replace(GOOD, media_errors=day)
        observed.observe(NOON + day * DAY, DISKS, drive(health), {})
    assert 100 == len(observed.to_state()["Vendor S1"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON | st.dictionaries(st.text(max_size=5), st.lists(st.tuples(JSON, JSON, JSON).map(list))))
def test_damaged_state_is_dropped(kept: object) -> None:
    events = DriveEvents(kept)
    assert events.to_state() == DriveEvents(events.to_state()).to_state()
