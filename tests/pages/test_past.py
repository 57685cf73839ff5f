"""The pages of the past: an hour, a day and a month of a drive, and the list of events."""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.history.history_events import HistoryEvent
from exporter.history.io_history import IoHistory
from exporter.io.verdict import Verdict
from exporter.pages.live_site import LiveSite
from exporter.pages.past import past_reader
from exporter.pages.past.past_pages import PastPages
from exporter.pages.past.past_reader import PastReader
from exporter.pages.past.time_range import (
    KINDS,
    latest_range,
    parsed_before,
    parsed_range,
    range_around,
    ticks,
    zone,
)
from exporter.pages.snapshot import recent_events
from exporter.pages.views import HostView
from exporter.web.http_message import Request
from tests.history.simulated_host import MIDNIGHT, SimulatedHost, identity, io
from tests.mounts import full, read_only, small_memory_disk
from tests.pages import examples
from tests.pages.test_pages import Outline

HOUR = 3600.0


@pytest.fixture(autouse=True)
def berlin() -> Iterator[None]:
    """A host in Berlin: UTC+1 in winter."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> SimulatedHost:
    """Three hours of two drives. One had a bottleneck from 03:12 to 03:19 (Berlin)."""
    its = SimulatedHost(tmp_path_factory.mktemp("state"), ["nvme0n1", "sdb"])
    load = {"nvme0n1": io(8e6, 4e6, 0.0004)}
    its.seconds(132 * 60, load)
    its.seconds(7 * 60, {"nvme0n1": io(8e6, 90e6, 0.09)}, {"nvme0n1": Verdict.WRITE_CACHE})
    its.seconds(41 * 60 + 4, load)
    its.history.save(its.clock.wall())
    return its


def view_of(its: SimulatedHost, name: str = "nvme0n1") -> HostView:
    view = examples.one()
    drive = view.drives[0]
    facts = replace(drive.facts, name=name, identity=identity(name))
    at = its.clock.wall()
    recent = recent_events(its.history, at)
    return replace(view, at=at, drives=(replace(drive, facts=facts),), recent=recent)


def site(its: SimulatedHost | None, view: HostView) -> LiveSite:
    history: IoHistory | None = None if its is None else its.history
    wall = view.at
    reader = PastReader(history, lambda: wall)
    return LiveSite(lambda: view, past=lambda: PastPages(reader, lambda key, _name: key))


def page(live: LiveSite, path: str, query: str = "") -> str:
    answer = live.respond(Request("GET", path, query, {}))
    assert answer is not None
    assert 200 == answer.status
    return answer.body.decode()


def test_last_night_is_answered_with_clock_times(night: SimulatedHost) -> None:
    live = site(night, view_of(night))
    for path, query in (("/events", ""), ("/drive/nvme0n1", "range=day")):
        text = Outline(page(live, path, query)).text
        assert "03:12 – 03:19" in text, path
        assert "Bottleneck: write cache, for 7 min, worst await 90 ms" in text
        assert "CET (UTC+01:00)" in text


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_of_a_time_has_charts_numbers_and_links(night: SimulatedHost, kind: str) -> None:
    text = page(site(night, view_of(night)), "/drive/nvme0n1", f"range={kind}")
    found = Outline(text)
    assert len(found.ids) == len(set(found.ids))
    assert f"Last {kind}" in found.text
    assert "8.0 MB/s" in found.text
    links = [each for each in found.addresses if "range=" in each]
    others = {word for word in KINDS if word != kind}
    assert {f"/drive/nvme0n1?range={word}" for word in others} < set(links)
    assert any(each.startswith(f"/drive/nvme0n1?range={kind}&end=") for each in links)
    assert "<script" not in text
    assert text.count('<svg class="pt') == 2


def test_an_event_leads_to_the_charts_around_it(night: SimulatedHost) -> None:
    live = site(night, view_of(night))
    found = Outline(page(live, "/events"))
    (link,) = (each for each in found.addresses if "range=hour" in each)
    path, _, query = link.partition("?")
    text = Outline(page(live, path, query)).text
    assert "22 Nov 02:43 – 22 Nov 03:43" in text
    assert "03:12 – 03:19" in text
    assert "90 ms" in text


def test_an_hour_without_records_is_not_an_hour_without_io(night: SimulatedHost) -> None:
    live = site(night, view_of(night))
    hour = page(live, "/drive/nvme0n1", f"range=hour&end={int(MIDNIGHT)}")
    assert 'class="na"' in hour
    assert "nothing was recorded in all of this time" in hour
    idle = page(site(night, view_of(night, "sdb")), "/drive/sdb", "range=hour")
    assert 'class="na"' not in idle
    assert "<b>0.0</b> <i>MB/s</i>" in idle


def test_the_live_page_has_the_switch_and_reads_no_file(night: SimulatedHost) -> None:
    live = site(night, view_of(night))
    text = page(live, "/drive/nvme0n1")
    assert 'href="/drive/nvme0n1?range=day"' in text
    assert "<script" in text
    assert "past.css" not in text


def test_without_a_history_the_page_says_why() -> None:
    view = examples.one()
    text = page(site(None, view), "/drive/nvme0n1", "range=day")
    assert "No history is kept" in text
    assert "No history is kept" in page(site(None, view), "/events")


def test_a_disk_that_hangs_delays_the_page_and_not_more(
    night: SimulatedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_reader, "_TIMEOUT_SECONDS", 0.05)
    released = threading.Event()

    class Hanging(IoHistory):
        def __init__(self) -> None:
            pass

        def minutes(self, first: int, last: int, identity: str) -> Iterator[object]:  # type: ignore[override]
            released.wait()
            return iter(())

    reader = PastReader(Hanging(), night.clock.wall)
    view = view_of(night)
    live = LiveSite(lambda: view, past=lambda: PastPages(reader, lambda key, _name: key))
    try:
        for _ in range(6):
            text = page(live, "/drive/nvme0n1", "range=day")
            assert "The disk with the history does not answer." in text
        assert "Identity and mounts" in text
    finally:
        released.set()


@pytest.mark.real
@pytest.mark.parametrize(
    ("failing", "reason"), [(full, "No space left on device"), (read_only, "Read-only file system")]
)
def test_pages_say_what_a_full_or_read_only_disk_costs_and_go_on(
    tmp_path: Path, failing: Callable[[Path], AbstractContextManager[None]], reason: str
) -> None:
    def recorded(its: SimulatedHost) -> list[int]:
        first = int(MIDNIGHT // 60)
        found = its.history.minutes(first, first + 2000, identity("nvme0n1"))
        return sorted(each.ordinal - first for each in found)

    load = {"nvme0n1": io(8e6, 4e6, 0.0004)}
    with small_memory_disk(tmp_path) as disk:
        its = SimulatedHost(disk, ["nvme0n1"])
        its.seconds(40 * 60, load)
        with failing(disk):
            # The last blocks of the files may have space left.
            while not its.history.problem:
                its.seconds(600, load)
            began = int(its.clock.wall() - MIDNIGHT) // 60
            its.seconds(5 * 3600, load)
            live = site(its, view_of(its))
            for path, query in (("/", ""), ("/events", ""), ("/drive/nvme0n1", "range=hour")):
                text = page(live, path, query)
                assert f"The history cannot be written: {reason}. The last minutes wait" in text
            assert text.count('class="na"') == 0, "the last hour is in memory"
            assert "The exporter was started" in page(live, "/events")
        kept = recorded(its)
        assert {*range(38), *range(began + 121, began + 299)} < set(kept)
        assert began + 60 not in kept
        its.seconds(25 * 60, load)
        assert "" == its.history.problem
        assert {*range(38), *range(began + 150, began + 320)} < set(recorded(its))


def test_the_first_page_lists_the_last_events_without_a_disk(night: SimulatedHost) -> None:
    text = Outline(page(site(None, view_of(night)), "/")).text
    assert "03:12 – 03:19" in text
    assert "Bottleneck: write cache, for 7 min, worst await 90 ms" in text
    day_later = replace(view_of(night), at=night.clock.wall() + 86_400)
    assert "22 Nov 03:12 – 03:19" in Outline(page(site(None, day_later), "/")).text


def test_a_host_on_which_nothing_happened_has_no_list_of_events(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["nvme0n1"])
    its.seconds(60, {})
    assert "What happened" not in page(site(its, view_of(its)), "/")


def test_names_that_are_hostile_to_html_stay_text(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["<b>&\"'"])
    its.seconds(120, {"<b>&\"'": io(read=1e6)}, {"<b>&\"'": Verdict.DEVICE})
    its.write_events([HistoryEvent(MIDNIGHT, None, "<script>", "x", "<img>")])
    live = site(its, view_of(its, "<b>&\"'"))
    its.restart(orderly=True)
    texts = [
        page(site(its, view_of(its, "<b>&\"'")), "/"),
        page(live, "/events"),
        page(live, "/drive/%3Cb%3E%26%22%27", "range=hour"),
    ]
    for text in texts:
        assert "<b>&" not in text
        assert "<script>" not in text
        assert "<img" not in text
        Outline(text)


def test_at_most_two_hundred_events_are_shown_and_older_ones_have_a_link(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["nvme0n1"])
    its.clock.advance(1000)
    for n in range(450):
        its.write_events([HistoryEvent(MIDNIGHT + n, None, "sda", str(n), "missing")])
    view = view_of(its)
    live = site(its, view)
    first = page(live, "/events")
    assert 200 == first.count("Disappeared")
    (older,) = re.findall(r"/events\?(before=\d+)", first)
    second = page(live, "/events", older)
    assert 200 == second.count("Disappeared")
    assert not set(re.findall(r'datetime="[^"]+T[^"]+"', first)[2:]) & set(
        re.findall(r'datetime="[^"]+T[^"]+"', second)[2:]
    )


@given(st.text(max_size=60), st.floats(1e9, 1e11))
def test_any_query_is_answered(query: str, now: float) -> None:
    found = parsed_range(query, now)
    assert found is None or found.begin < found.end
    assert parsed_before(query, now) <= now


@given(
    st.sampled_from(list(KINDS)),
    st.integers(0, 10**11),
    st.floats(1e9, 1e10),
)
def test_a_time_has_at_most_three_hundred_points_and_ends_now_at_the_latest(
    kind: str, end: int, now: float
) -> None:
    found = parsed_range(f"range={kind}&end={end}", now)
    assert found is not None
    assert found.kind.points <= 300
    assert found.end <= now + found.kind.step_seconds
    assert 0 <= found.begin
    assert parsed_range(found.query[1:], now) == found
    around = range_around(kind, float(min(end, now)), now)
    assert around.begin <= min(end, now) <= around.end + found.kind.step_seconds
    for place, text in ticks(found):
        assert 0 <= place <= 1
        assert text


def test_the_ticks_are_local_times() -> None:
    day = latest_range(KINDS["day"], MIDNIGHT + 10 * HOUR)
    texts = [text for _, text in ticks(day)]
    assert ["12:00", "15:00", "18:00", "21:00", "22 Nov", "03:00", "06:00", "09:00"] == texts
    assert "CET (UTC+01:00)" == zone(MIDNIGHT)
