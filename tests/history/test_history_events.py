"""The events with their times: bottlenecks, drives that come and go, restarts."""

import shutil
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from exporter.history.history_events import HistoryEvent, decoded_events, encoded_events
from exporter.io.verdict import Verdict
from tests.history.simulated_host import MIDNIGHT, SimulatedHost, io

BUSY = {"sda": io(read=1e6, await_seconds=0.02)}
ILL = {"sda": Verdict.DEVICE}

_TEXT = st.text(max_size=60)
_TIME = st.integers(0, 10**10).map(float)
_EVENTS = st.lists(
    st.builds(
        HistoryEvent,
        *(_TIME, st.none() | _TIME, _TEXT, _TEXT, _TEXT),
        *(st.integers(0, 10**6).map(float), st.just(0.0)),
    ),
    unique_by=lambda each: (each.at, each.identity, each.kind),
    max_size=6,
)


def bottlenecks(its: SimulatedHost) -> list[tuple[str, float, float | None, str]]:
    """Returns each bottleneck: drive, minutes from midnight to its begin and end, kind."""
    return [
        (
            *(each.name, (each.at - MIDNIGHT) / 60),
            *(None if each.end is None else (each.end - MIDNIGHT) / 60, each.kind),
        )
        for each in its.history.events(its.clock.wall())
        if each.is_bottleneck
    ]


def test_a_bottleneck_has_a_begin_and_an_end(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.seconds(192 * 60, BUSY)
    its.seconds(7 * 60, BUSY, ILL)
    its.seconds(10 * 60, BUSY)
    assert [("sda", 192, 199, "device")] == bottlenecks(its)
    (event,) = (each for each in its.history.events(its.clock.wall()) if each.is_bottleneck)
    assert 0.019 < event.worst < 0.021
    assert 415 <= event.number <= 420


def test_a_bottleneck_that_lasts_has_no_end_yet_and_is_open(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.seconds(30 * 60, BUSY)
    its.seconds(90 * 60, BUSY, ILL)
    assert [("sda", 30, None, "device")] == bottlenecks(its)
    (event,) = (each for each in its.history.events(its.clock.wall()) if each.is_bottleneck)
    assert its.history.is_open(event)


def test_a_bottleneck_that_is_over_now_has_an_end_although_it_is_not_recorded(
    tmp_path: Path,
) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.seconds(30 * 60, BUSY)
    its.seconds(5 * 60 + 20, BUSY, ILL)
    its.seconds(20, BUSY)
    assert [("sda", 30, 35, "device")] == bottlenecks(its)
    newest = its.history.newest(its.clock.wall())[0]
    assert newest.end is not None
    assert not its.history.is_open(newest)
    its.seconds(20, BUSY, ILL)
    assert [("sda", 30, None, "device")] == bottlenecks(its)


def test_a_short_bottleneck_is_no_event_and_a_short_pause_does_not_end_one(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.seconds(600, BUSY)
    its.seconds(5, BUSY, ILL)
    its.seconds(595, BUSY)
    assert [] == bottlenecks(its)
    its.seconds(120, BUSY, ILL)
    its.seconds(60, BUSY)
    its.seconds(120, BUSY, ILL)
    its.seconds(300, BUSY)
    assert [("sda", 20, 25, "device")] == bottlenecks(its)


def test_another_bottleneck_is_another_event(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.seconds(120, BUSY, ILL)
    its.seconds(120, BUSY, {"sda": Verdict.THERMAL})
    its.seconds(300, BUSY)
    assert [("sda", 0, 2, "device"), ("sda", 2, 4, "thermal")] == bottlenecks(its)


def test_events_survive_an_orderly_restart_and_mostly_a_kill(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.seconds(30 * 60, BUSY, ILL)
    its.restart(orderly=True)
    (first,) = bottlenecks(its)
    assert ("sda", 0, "device") == (first[0], first[1], first[3])
    assert first[2] in (29, 30)
    its.seconds(60 * 60, BUSY)
    its.seconds(30 * 60, BUSY, ILL)
    its.restart(orderly=False)
    kept = bottlenecks(its)
    assert first == kept[0]
    assert ("sda", 90, None, "device") == kept[1]
    event = its.history.events(its.clock.wall())[-2]
    assert event.is_bottleneck
    assert not its.history.is_open(event)


def test_a_drive_that_disappears_and_the_start_have_their_time_of_day(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.notice("sda", "sdb")
    its.clock.advance(11_520.0)
    its.notice("sda")
    found = [
        (each.at - MIDNIGHT, each.name, each.kind) for each in its.history.events(its.clock.wall())
    ]
    assert [(0.0, "", "started"), (11_520.0, "sdb", "missing")] == found
    its.restart(orderly=True)
    its.clock.advance(60)
    assert "missing" in {each.kind for each in its.history.events(its.clock.wall())}


def test_the_newest_events_stay_in_memory_also_over_a_restart(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.seconds(600, BUSY)
    its.seconds(300, BUSY, ILL)
    its.seconds(600, BUSY)
    its.notice("sda", "sdb")
    its.clock.advance(1)
    its.notice("sda")
    its.restart(orderly=True)
    its.clock.advance(1)
    shutil.rmtree(tmp_path / "history")
    found = its.history.newest(its.clock.wall())
    assert ["started", "missing", "device", "started"] == [each.kind for each in found]
    assert (MIDNIGHT + 600, MIDNIGHT + 900) == (found[2].at, found[2].end)


def test_of_the_newest_events_five_are_kept_and_none_of_the_future(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.write_events([HistoryEvent(MIDNIGHT - n, None, "sda", "a", "missing") for n in range(99)])
    its.restart(orderly=False)
    its.seconds(300, BUSY, ILL)
    found = its.history.newest(its.clock.wall())
    assert ["device", "started", "missing", "missing", "missing"] == [each.kind for each in found]
    assert its.history.is_open(found[0])
    assert 239 <= found[0].number <= 300
    assert [] == its.history.newest(MIDNIGHT - 1000)


@given(_EVENTS)
def test_events_are_read_as_they_were_written(events: list[HistoryEvent]) -> None:
    found = decoded_events([encoded_events(events)])
    assert sorted(events) == sorted(found) or set(events) == set(found)


@given(st.lists(st.binary(max_size=80) | st.text(max_size=80).map(str.encode), max_size=4))
def test_a_file_of_anybody_has_no_events_or_valid_ones(bodies: list[bytes]) -> None:
    for event in decoded_events([*bodies, b"[[1],[1,2,3,4,5,6,7],null]", b"[[1e999" + b"[" * 9999]):
        assert 0 <= event.at


def test_events_that_flap_are_limited_and_the_newest_are_kept(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    for _ in range(500):
        its.notice("sda")
        its.clock.advance(1)
        its.notice()
        its.clock.advance(1)
    its.history.save(its.clock.wall())
    found = its.history.events(its.clock.wall())
    assert 100 == sum(each.kind in ("missing", "returned") for each in found)
    assert ("missing", MIDNIGHT + 999) == (found[-1].kind, found[-1].at)
    rows = [
        encoded_events([each._replace(at=float(n))]) for n, each in enumerate(found[-1:] * 25_000)
    ]
    kept = decoded_events(rows)
    assert (20_000, 24_999.0) == (len(kept), kept[-1].at)
