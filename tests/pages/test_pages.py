"""The pages as text: states of drives, escaping, order, sizes. No browser is needed."""

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from exporter.drives.health import (
    DriveHealth,
    DriveIdentity,
    Endurance,
    EnduranceSource,
    RejectedValue,
    RejectionKind,
)
from exporter.drives.nvme_logs.slow_place import SlowPlace, SlowPlaces, SlowRequests
from exporter.drives.watched_drive import WatchedDrive
from exporter.families import smart_families
from exporter.families.desc import MetricDesc
from exporter.io.drive_events import DriveEvent, EventKind
from exporter.io.recent_activity import VERDICTS
from exporter.io.services import ServiceRate
from exporter.io.verdict import Verdict
from exporter.pages import judgement, live_site
from exporter.pages.drive_history import DriveHistory, ProbeRounds
from exporter.pages.drive_page import drive_page
from exporter.pages.event_lanes import event_lanes
from exporter.pages.health_list import health_list
from exporter.pages.host_page import host_page
from exporter.pages.log_page_table import slow_sentence
from exporter.pages.smart_table import forecast
from exporter.pages.views import HostView, Mounted
from exporter.probe.cliff_result import CacheCliff, CliffResult, WritePhase
from exporter.probe.slc_results import SlcResult
from exporter.smart.drive_problems import CheckThresholds, Status, problems
from tests.pages import examples
from tests.pages.examples import AT, DAY, IDLE, Load, columns, drive, facts, host

EVERY_HOST = {
    "one": examples.one(),
    "one in trouble": examples.one_in_trouble(),
    "most states": examples.six(),
    "24": examples.many(24),
    "24 healthy": examples.many(24, in_trouble=False),
    "200": examples.many(200),
    "a virtual disk": examples.bare(),
    "none": host("empty", []),
}

VOID = {"meta", "link", "br"}


class Outline(HTMLParser):
    """Collects what the tests ask about a page, and checks that elements are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.attributes: set[str] = set()
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src"):
                self.addresses.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in {"path", "rect", "use"} and self.open[-1] != tag:
            return
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def history() -> DriveHistory:
    wear = [(examples.AT - (360 - n) * DAY, 0.5 + n // 10 / 100) for n in range(0, 360, 5)]
    rounds = [(examples.AT - (30 - n) * DAY, 0.001 + n * 1e-5) for n in range(30)]
    rates = [(at, 50_000 + 100 * math.sin(at) + n * 300) for n, (at, _) in enumerate(rounds)]
    cliff = CacheCliff(
        CliffResult.CLIFF,
        80_000_000_000,
        (WritePhase(0, 512e6), WritePhase(42_000_000_000, 118e6)),
        42_000_000_000,
        None,
        512e6,
        118e6,
    )
    return DriveHistory(
        wear,
        (ProbeRounds("fsync", True, rounds), ProbeRounds("read", False, rates)),
        SlcResult(("x",), "sdb", examples.AT - DAY, cliff, {600: 25_000_000_000}),
        examples.EVENTS,
    )


def text_of(view: HostView) -> str:
    return Outline(host_page(view, "1")).text


@pytest.mark.parametrize("name", EVERY_HOST)
def test_a_page_is_well_formed_and_asks_no_other_server(name: str) -> None:
    page = Outline(host_page(EVERY_HOST[name], "1"))
    assert len(page.ids) == len(set(page.ids))
    assert "style" not in page.attributes
    assert not any(each.startswith("on") for each in page.attributes)
    assert all(each.startswith(("/", "#")) for each in page.addresses)


@pytest.mark.parametrize("name", EVERY_HOST)
def test_the_page_of_each_drive_is_well_formed(name: str) -> None:
    view = EVERY_HOST[name]
    for each in view.drives[:30]:
        for kept in (DriveHistory(), history()):
            page = Outline(drive_page(view, each, kept, "1"))
            assert len(page.ids) == len(set(page.ids)), each.name
            assert "style" not in page.attributes


def test_a_model_name_can_neither_add_elements_nor_act_on_a_terminal() -> None:
    nasty = '<script>alert(1)</script>"\x1b[31m\u202e'
    watched = drive("sda", identity=DriveIdentity(model=nasty), message=nasty)
    known = facts("sda", watched, roles=(nasty,), mounts=(Mounted(nasty, nasty),))
    service = ServiceRate(nasty, 1e6, 1e6, 1.0, 1.0)
    view = host(nasty, [(known, columns(Load(1, 1, 1, 1), 1, 300), (service,))])
    for page in (host_page(view, "1"), drive_page(view, view.drives[0], history(), "1")):
        assert "<script>alert" not in page
        assert "\x1b" not in page
        assert "\u202e" not in page
        assert page.count("<script") == 1


def test_a_name_of_any_characters_links_to_its_page() -> None:
    view = host("h", [(facts("bus/0:megaraid,3", kind=None), None, ())])
    assert 'href="/drive/bus%2F0%3Amegaraid%2C3"' in host_page(view, "1")


def test_the_sentence_names_the_bottleneck_and_counts_the_rest() -> None:
    assert EVERY_HOST["one"].sentence == "nvme0n1 is healthy."
    assert EVERY_HOST["24 healthy"].sentence == "All 24 drives are healthy."
    assert EVERY_HOST["a virtual disk"].sentence == (
        "vda has no bottleneck. Virtual disks provide no SMART data."
    )
    assert EVERY_HOST["most states"].sentence == (
        "nvme2n1 is missing and sdc reports that it is failing. nvme1n1 is at its limit and the"
        " write cache of sda is full. Of seven drives, one is missing, one is critical and three"
        " need attention."
    )
    assert EVERY_HOST["one in trouble"].sentence == (
        "MySQL waits for nvme0n1: the drive is at its limit. nvme0n1 is critical."
    )


@pytest.mark.parametrize(
    ("spans", "is_shown"), [(((30, 0),), True), ((), False)], ids=["bottleneck", "calm"]
)
def test_a_bottleneck_is_explained_by_where_slow_requests_spent_their_time(
    spans: tuple[tuple[int, int], ...], is_shown: bool
) -> None:
    now = columns(Load(80, 20, 1, 1, Verdict.DEVICE, spans, 30.0), 1, 300)
    outside = SlowRequests("read", SlowPlace.OUTSIDE, 0, 0.09)
    slow = SlowPlaces(AT - 900, AT, 0.03, (outside,))
    without, known = (
        judgement.why(judgement.judged(facts("nvme0n1"), now, 300.0, slow=each), "five minutes")
        for each in (None, slow)
    )
    sentence = f" {slow_sentence(slow)}" if is_shown else ""
    assert f"{without}{sentence}" == known


def test_two_drives_in_trouble_are_both() -> None:
    worn = [(facts(n, drive(n, examples.health(0.85))), IDLE, ()) for n in ("sda", "sdb", "sdc")]
    assert host("h", worn[:2]).sentence == "Both drives need attention."
    assert host("h", worn).sentence == "All three drives need attention."


def test_drives_with_problems_come_first_then_those_with_a_bottleneck() -> None:
    names = [each.name for each in EVERY_HOST["most states"].drives]
    assert names == ["nvme2n1", "sdc", "nvme1n1", "sda", "sdb", "nvme0n1", "sdd"]


def test_the_list_has_one_line_per_drive_with_its_problems_and_actions() -> None:
    view = EVERY_HOST["most states"]
    assert [todo.drive for todo in view.todos] == ["nvme2n1", "sdc", "nvme1n1", "sda", "sdb"]
    by_name = {todo.drive: todo for todo in view.todos}
    assert "ssd-exporter forget S4EVNX" in by_name["nvme2n1"].action
    assert by_name["sdc"].lead == "It reports that it is failing (SMART self-assessment)."
    assert "6 % of its spare blocks are left" in by_name["sdc"].text
    assert by_name["sdc"].action == "Copy its data elsewhere now, then replace the drive."
    assert by_name["nvme1n1"].action.startswith("mysqld.service causes 83 % of the I/O.")
    assert "MySQL stores data on it." in by_name["nvme1n1"].text


def test_an_invalid_log_is_told_with_what_to_do() -> None:
    statement = "the SMART log is invalid: all its bits are 1"
    invalid = RejectedValue("available", 0.0, "log", statement, RejectionKind.LOG_INVALID)
    health = DriveHealth(unreadable=statement, rejected=(invalid,))
    watched = WatchedDrive("sda", "S1", "/dev/sda", up=True, health=health)
    assert [Status.UNKNOWN] == [each.status for each in problems(watched, CheckThresholds())]
    view = judgement.judged(facts("sda", watched), None, 300.0)
    assert view.status is Status.UNKNOWN
    (todo,) = view.todos
    assert "The SMART log is invalid: all its bits are 1." == todo.lead
    assert "read it again with `smartctl -x`" in todo.action


@pytest.mark.parametrize(
    ("health", "words"),
    [
        (
            DriveHealth(healthy=False, critical_warnings={"reserved_6": True}),
            "a warning that does not concern its data",
        ),
        (
            DriveHealth(
                healthy=False,
                critical_warnings={"reliability": True},
                endurance=Endurance(1.0, EnduranceSource.NVME_LOG),
                spare_ratio=1.0,
                media_errors=0,
            ),
            "its rated endurance is used up (100 % used): spare 100 %, no media errors",
        ),
        (
            DriveHealth(healthy=False, critical_warnings={"temperature": True}),
            "a temperature outside its limits",
        ),
        (DriveHealth(healthy=False), "the drive reports that it is failing"),
        (
            DriveHealth(
                healthy=True,
                rejected=(
                    RejectedValue("media_errors_total", 0.0, "x", "it was 9", RejectionKind.FELL),
                ),
            ),
            "media errors: it was 9",
        ),
    ],
)
def test_the_list_of_health_explains_what_the_drive_reports(
    health: DriveHealth, words: str
) -> None:
    watched = WatchedDrive("sda", "S1", "/dev/sda", up=True, health=health)
    view = judgement.judged(facts("sda", watched), None, 300.0)
    assert words in health_list(view, 0.0)


def test_a_drive_that_is_saturated_for_half_of_the_time_is_critical() -> None:
    load = Load(40, 20, 0.3, 0.5, Verdict.DEVICE, ((150, 0),))
    now = columns(load, 1, 300)
    assert judgement.judged(facts("sda"), now, 300.0).status is Status.CRITICAL
    less = replace(now, saturated_seconds=149.0)
    assert judgement.judged(facts("sda"), less, 300.0).status is Status.WARNING
    early = replace(now, saturated_seconds=5.0)
    assert judgement.judged(facts("sda"), early, 6.0).status is Status.WARNING


def test_a_drive_that_completes_no_requests_is_critical() -> None:
    load = Load(40, 20, 0.3, 0.5, Verdict.DEVICE, ((9, 0),))
    now = replace(columns(load, 1, 300), is_stalled=True, stalled_seconds=9.0)
    drives = [(facts("sda", roles=("mysql-data",)), now, ())]
    view = host("h", drives)
    assert view.drives[0].status is Status.CRITICAL
    assert "MySQL waits for sda: requests of the drive hang." in view.sentence
    assert "journalctl -k" in view.todos[0].action
    short = replace(now, stalled_seconds=1.0)
    assert judgement.judged(facts("sda"), short, 300.0).status is Status.WARNING


@pytest.mark.parametrize(
    ("watched", "shown"),
    [
        (None, "not available"),
        (drive("sda", DriveHealth(power_mode="standby")), "asleep, not woken"),
        (drive("sda", DriveHealth(unreadable="a USB bridge")), "not available: a USB bridge"),
        (WatchedDrive("sda", "", "/dev/sda", message="smartctl is too old"), "smartctl is too old"),
        (WatchedDrive("sda", "", "/dev/sda"), "not read yet"),
        (drive("sda", up=False, message="timed out"), "no answer: timed out"),
    ],
)
def test_a_drive_without_smart_data_says_why(watched: WatchedDrive | None, shown: str) -> None:
    known = replace(facts("sda", watched), smart=watched, problems=())
    view = host("h", [(known, IDLE, ())])
    assert shown in text_of(view)
    assert shown in Outline(drive_page(view, view.drives[0], DriveHistory(), "1")).text


def test_an_unknown_value_is_left_out_with_its_row() -> None:
    bare = drive("sda", DriveHealth(healthy=True))
    known = facts("sda", bare, link_bytes_per_second=None)
    text = text_of(host("h", [(known, IDLE, ())]))
    for name in ("Wear", "Spare", "Heat", "Errors", "Link", "Written"):
        assert f" {name} " not in text


def test_up_to_eight_drives_have_sections_and_more_have_cells() -> None:
    assert 'class="cells"' not in host_page(EVERY_HOST["most states"], "1")
    page = host_page(EVERY_HOST["200"], "1")
    assert page.count("<li><a ") == 200
    assert "195 healthy drives" in page
    assert 'aria-label="nvme7n1: At its limit"' in page
    assert len(page) < 300_000


def test_a_list_of_many_problems_is_cut() -> None:
    gone = [(facts(f"sd{n}", drive(f"sd{n}", is_missing=True)), None, ()) for n in range(200)]
    text = text_of(host("h", gone))
    assert "and 170 more" in text
    assert "200 drives" in text


def test_a_host_without_drives_says_what_to_check() -> None:
    assert "--collector.disk.device-include" in text_of(EVERY_HOST["none"])


def test_the_page_of_a_drive_shows_what_is_kept() -> None:
    view = EVERY_HOST["most states"]
    sdb = next(each for each in view.drives if each.name == "sdb")
    text = Outline(drive_page(view, sdb, history(), "1")).text
    assert "Wear over a year" in text
    assert "used up 21 Jan – 11 Apr 2027, most likely 22 Feb 2027" in text
    assert "The write cache ends after 42.0 GB." in text
    assert "The speed falls from 512 MB/s to 118 MB/s, 23 %." in text
    assert "first run 1.0 ms, last run 1.3 ms" in text
    assert "first run 49,950 /s, last run 58," in text


@pytest.mark.parametrize(
    ("result", "cache_min_bytes", "words"),
    [
        (CliffResult.BUDGET, 9 * 10**9, "The write cache has at least 9.00 GB: it did not end."),
        (CliffResult.DISTURBED, 9 * 10**9, "cache was not measured: other programs began"),
        (CliffResult.RAMP, None, "Result of the probe: ramp."),
    ],
)
def test_the_page_of_a_drive_says_what_a_probe_without_a_cliff_has_shown(
    result: CliffResult, cache_min_bytes: int | None, words: str
) -> None:
    view = EVERY_HOST["most states"]
    cliff = CacheCliff(result, 10**10, (), None, cache_min_bytes, 512e6)
    kept = DriveHistory(cache=SlcResult(("x",), "sdb", examples.AT - DAY, cliff, {}))
    assert words in Outline(drive_page(view, view.drives[0], kept, "1")).text


def test_a_figure_without_data_is_left_out() -> None:
    view = EVERY_HOST["one"]
    text = Outline(drive_page(view, view.drives[0], DriveHistory(), "1")).text
    for heading in ("Wear over a year", "Write cache", "Is it still as fast"):
        assert heading not in text
    assert "Identity and mounts" in text


def test_each_metric_named_beside_a_smart_value_exists() -> None:
    counts = ("reallocated_sectors", "pending_sectors", "program_failures", "erase_failures")
    state = replace(
        examples.health(0.9),
        **dict.fromkeys((*counts, "interface_errors"), 1),  # type: ignore[arg-type]
        plp_healthy=False,
        over_temperature_warning_seconds=60.0,
        critical_warnings={"spare": True},
        attributes=examples.ATTRIBUTES,
        messages=("WARNING: a firmware update may be available",),
    )
    watched = drive("sda", state, wearout_seconds=(1e6, 2e6, 3e6), wearout_method="steps")
    view = host("h", [(facts("sda", watched), IDLE, ())])
    page = drive_page(view, view.drives[0], DriveHistory(), "1")
    named = set(re.findall(r"<code>(ssd_smart_\w+)</code>", page))
    known = {each.name for each in vars(smart_families).values() if isinstance(each, MetricDesc)}
    assert len(named) >= 18
    assert named <= known
    assert "Wear_Leveling_Count" in page
    assert "a firmware update may be available" in page


@pytest.mark.parametrize("verdict", Verdict)
def test_each_verdict_has_words_an_action_and_a_colour(verdict: Verdict) -> None:
    now = replace(columns(Load(40, 20, 0.3, 0.5, verdict, ((90, 0),)), 1, 300), verdict=verdict)
    view = host("h", [(facts("sda"), now, ())])
    assert view.sentence
    assert verdict is Verdict.NONE or view.todos[0].action
    sheet = (Path(live_site.__file__).parent / "page.css").read_text()
    assert f".k-{verdict.value}{{" in sheet
    assert judgement.LABELS[verdict] in text_of(view)


def test_a_year_of_events_has_a_lane_for_each_kind() -> None:
    view = EVERY_HOST["most states"]
    drive = next(each for each in view.drives if each.name == "sdb")
    page = Outline(drive_page(view, drive, history(), "1"))
    assert "What happened in the last year" in page.text
    for words in ("Installed", "Power losses", "9 on 3 days", "Bottleneck: thermal", "52 on 52"):
        assert words in page.text, words
    assert "throttled" not in page.text
    none = Outline(drive_page(view, drive, DriveHistory(), "1"))
    assert "What happened" not in none.text


def test_an_event_of_another_year_or_of_a_wrong_clock_has_no_lane() -> None:
    day = int(examples.AT // DAY)
    for wrong in (day - 366, day + 2):
        assert event_lanes([DriveEvent(wrong, EventKind.MISSING, 1)], examples.AT) == ""
    assert "last 22 Nov 2026" in event_lanes([DriveEvent(day, EventKind.MISSING, 1)], examples.AT)


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        (((112, 0),), "Since 10:00:41."),
        # A gap of nine seconds does not end it, and one of ten does.
        (((112, 50), (41, 0)), "Since 10:00:41."),
        (((112, 50), (40, 0)), "Since 10:01:53."),
        (((300, 0),), "It began before the charts do."),
    ],
)
def test_a_bottleneck_says_since_when(spans: tuple[tuple[int, int], ...], expected: str) -> None:
    load = examples.Load(40, 20, 0.3, 0.5, Verdict.DEVICE, spans)
    now = examples.columns(load, 3, 300)
    begin = judgement.began(now, 300.0, examples.AT)
    (todo,) = judgement.judged(facts("nvme0n1"), now, 300.0, begin=begin).todos
    assert todo.text.endswith(expected)


def test_a_bottleneck_whose_cause_becomes_known_later_has_begun_before() -> None:
    load = examples.Load(40, 20, 0.3, 0.5, Verdict.DEVICE, ((112, 0),))
    now = examples.columns(load, 3, 300)
    code = VERDICTS.index(Verdict.THERMAL)
    statuses = now.statuses[:-20] + bytes(code for _ in range(20))
    later = replace(now, verdict=Verdict.THERMAL, statuses=statuses)
    begin = judgement.began(later, 300.0, examples.AT)
    assert (examples.AT - 112, examples.AT - 20) == begin
    (todo,) = judgement.judged(facts("nvme0n1"), later, 300.0, begin=begin).todos
    assert todo.text.endswith("Since 10:00:41; its cause is known since 10:02:13.")


@pytest.mark.parametrize(
    ("at", "expected"),
    [(examples.AT - 3600, "Seen since 09:02."), (examples.AT - 3 * DAY, "Seen since 19 Nov 2026.")],
)
def test_a_problem_of_the_health_says_since_when(at: float, expected: str) -> None:
    worn = facts("nvme0n1", drive("nvme0n1", examples.health(0.93)), problem_times={"wear": at})
    (todo,) = judgement.judged(worn, None, 300.0, at=examples.AT).todos
    assert (todo.lead, todo.text) == ("93 % of its rated endurance is used.", expected)
    (todo,) = judgement.judged(replace(worn, problem_times={}), None, 300.0, at=examples.AT).todos
    assert not todo.text


def test_problems_that_were_found_together_say_once_since_when() -> None:
    its = facts("sda", drive("sda", examples.health(0.93, media_errors=7, plp_healthy=False)))
    topics = [each.topic for each in its.problems]
    assert 3 == len(topics)
    for times, count in ((examples.AT - 60,) * 3, 1), ((0, 1e6, 2e6), 3):
        known = replace(its, problem_times=dict(zip(topics, times, strict=True)))
        (todo,) = judgement.judged(known, None, 300.0, at=examples.AT).todos
        assert count == todo.text.count("Seen since")
        assert re.search(r"Seen since [^.]+\.$", todo.text)


@pytest.mark.parametrize("is_failing", [False, True])
def test_a_drive_that_reports_its_failure_has_no_forecast_of_its_wear(is_failing: bool) -> None:
    """A drive with 23 % wear can fail long before its endurance is used up."""
    bits = {"read_only": is_failing}
    state = examples.health(0.23, healthy=not is_failing, critical_warnings=bits)
    its = facts("sda", drive("sda", state, wearout_seconds=(400 * DAY, 500 * DAY, 600 * DAY)))
    assert is_failing != ("used up between" in forecast(its, AT))
