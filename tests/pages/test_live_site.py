"""The responses of the pages: policy, live data, wrong addresses, and values of a real sampler."""

import gzip
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.config.settings import Paths, Settings
from exporter.drives.watched_drive import WatchedDrive
from exporter.io.recent_activity import SAMPLES
from exporter.io.services import ServiceRate
from exporter.io.survey import TopologySurvey
from exporter.pages.live_pages import LivePages
from exporter.pages.live_site import POLICY, LiveSite
from exporter.pages.snapshot import SnapshotReader
from exporter.pages.views import HostView
from exporter.smart.polling.poll_document import Heartbeat
from exporter.web.http_message import BadRequest, Request, Response, parse_request
from exporter.web.site import Site
from tests.io.machine import ALL_IDLE, CALM, FULL, Machine
from tests.io.records import NEW, grown
from tests.metrics.accept_encodings import ACCEPT_ENCODINGS
from tests.pages import examples
from tests.web.http_client import GET, send_request, serving

#: A site with one drive, for tests with many requests.
ONE = LiveSite(examples.one)


def site(view: HostView) -> LiveSite:
    return LiveSite(lambda: view)


def answer(live: LiveSite, path: str, query: str = "", **headers: str) -> Response:
    found = live.respond(Request("GET", path, query, headers))
    assert found is not None
    return found


def live_data(view: HostView, query: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(answer(site(view), "/live.json", query).body)
    return values


def test_the_policy_allows_only_the_files_of_this_server() -> None:
    expected = (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert expected == POLICY
    live = site(examples.six())
    for path in ("/", "/drive/sdb", "/live.json"):
        assert expected == dict(answer(live, path).headers)["Content-Security-Policy"]


def test_the_stylesheet_and_the_script_are_small_and_fetch_nothing_else() -> None:
    live = site(examples.one())
    sent = [
        answer(live, path, **{"accept-encoding": "gzip"}).body for path in ("/page.js", "/page.css")
    ]
    assert sum(map(len, sent)) < 10_500
    script, sheet = (answer(live, path).body for path in ("/page.js", "/page.css"))
    assert [script, sheet] == [gzip.decompress(body) for body in sent]
    assert len(script) < 16_000
    assert len(sheet) < 16_000
    for text in (script, sheet):
        assert b"http" not in text
        assert b"@import" not in text
        assert b"innerHTML" not in text


def test_no_name_makes_the_live_data_fail() -> None:
    """Names of processes and groups are bytes, and may be no valid UTF-8."""
    (drive,) = examples.one().drives
    services = (ServiceRate("a\udcff\x1b.service", 1e6, 1e6, 1.0, 1.0),)
    view = replace(examples.one(), drives=(replace(drive, services=services),))
    (row,) = live_data(view, "")["u"]["0"]
    assert "a\udcff\x1b.service" == row[0]
    assert 200 == answer(site(view), "/").status


def test_other_paths_are_left_to_the_site() -> None:
    live = site(examples.one())
    assert live.respond(Request("GET", "/nothing", "", {})) is None
    whole = Site(None, lambda: "", lambda: True, live.respond)  # type: ignore[arg-type]
    assert 404 == whole.respond(Request("GET", "/nothing", "", {})).status
    assert 200 == whole.respond(Request("GET", "/", "", {})).status


def test_an_unknown_drive_is_404() -> None:
    for name in ("nothing", "%00", "..%2f..", "%ff"):
        assert 404 == answer(site(examples.one()), f"/drive/{name}").status


@pytest.mark.parametrize(("accept_encoding", "expected"), ACCEPT_ENCODINGS)
def test_a_large_page_is_compressed_for_the_clients_for_which_the_metrics_are(
    accept_encoding: str, expected: str
) -> None:
    live = site(examples.many(24))
    plain = answer(live, "/")
    got = answer(live, "/", **{"accept-encoding": accept_encoding})
    assert expected == dict(got.headers).get("Content-Encoding", "")
    assert plain.body == (gzip.decompress(got.body) if expected else got.body)
    assert expected or plain.headers == got.headers


def test_live_data_contains_the_samples_since_the_last_request() -> None:
    view = examples.six()
    number = view.now.number
    assert [SAMPLES] * 3 == [
        len(live_data(view, f"since={since}")["s"]["1"][0])
        for since in (0, number - SAMPLES - 5, number + 7)
    ]
    two = live_data(view, f"since={number - 2}")
    assert number == two["n"]
    assert all(len(column) == 2 for column in (*two["s"]["1"], *two["h"]))
    none = live_data(view, f"since={number}")
    assert [[], [], [], [], ""] == none["s"]["1"]


def test_a_wrong_number_of_a_sample_returns_all() -> None:
    view = examples.one()
    for query in ("", "since=", "since=-1", "since=x", f"since={'9' * 99}", "since=١"):
        assert SAMPLES == len(live_data(view, query)["s"]["0"][0])


def test_a_query_with_too_many_fields_is_400_and_not_a_mistake_of_the_program(
    caplog: pytest.LogCaptureFixture,
) -> None:
    whole = Site(None, lambda: "", lambda: True, site(examples.one()).respond)  # type: ignore[arg-type]
    with serving(whole.respond) as server:
        for fields, status in ((8, 200), (9, 400), (4000, 400)):
            query = b"&".join([b"a"] * fields)
            request = GET.replace(b"/metrics", b"/live.json?" + query)
            got = send_request(server, request)
            assert status == got.status
            if status == 400:
                assert b"The query has more than 8 fields.\n" == got.body
    assert [] == caplog.records


PIECES = ["&", ";", "=", "%", "?", "#", "since", "drive", "all", "%00", "%ff", "1"]
TARGETS = (
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E))
    | st.lists(st.sampled_from(PIECES)).map("".join)
    | st.integers(0, 4000).map(lambda count: "&" * count)
)
FIELDS = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_categories=["Cc"]))


@given(st.sampled_from(["", "live.json?", "drive/", "drive/sda?", "page.css?"]), TARGETS, FIELDS)
def test_no_request_is_a_mistake_of_the_program(page: str, rest: str, field: str) -> None:
    head = f"GET /{page}{rest} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: {field}".encode("latin-1")
    with suppress(BadRequest):
        request, _ = parse_request(head)
        response = ONE.respond(request)
        assert response is None or response.status < 500


def test_the_texts_are_those_of_the_page() -> None:
    for view in (examples.six(), examples.many(24), examples.bare()):
        page = answer(site(view), "/").body.decode()
        for key, text in live_data(view, "all=1")["t"].items():
            if f'data-k="{key}"' in page:
                assert f'data-k="{key}">{text}<' in page


def test_a_page_of_a_drive_receives_only_that_drive() -> None:
    data = live_data(examples.six(), "drive=sda")
    assert ["0"] == list(data["s"])
    assert "h" not in data
    assert {"d0"} == {key.split(":")[0] for key in data["t"]}


def test_rows_that_are_not_shown_are_not_sent() -> None:
    view = examples.many(200)
    closed, opened = live_data(view, "since=9999"), live_data(view, "since=9999&all=1")
    assert 200 == len(closed["c"])
    assert len(closed["t"]) < 100 < len(opened["t"])
    assert closed["s"].keys() == opened["s"].keys()
    assert len(json.dumps(closed)) < 8000


def test_the_state_changes_with_a_verdict_and_not_with_a_number() -> None:
    before = live_data(examples.six(), "")["st"]
    assert before == live_data(examples.six(1), "")["st"]
    assert before != live_data(examples.one(), "")["st"]


def test_values_come_from_the_sampler(tmp_path: Path) -> None:
    its = Machine(tmp_path)
    its.disks(NEW)
    its.cpus(ALL_IDLE)
    its.waiting(0.0)
    its.tick()
    disk = NEW
    for number, second in enumerate((CALM, CALM, FULL, FULL, FULL)):
        its.waiting(number / 2)
        disk = grown(disk, **second)._replace(io_now=32)
        its.disks(disk).tick()
    reader = snapshots(its)
    view = reader.read()
    (sdx,) = view.drives
    assert sdx.now is not None
    assert "device" == sdx.verdict.value
    assert 400 * 16384 == sdx.now.written_bytes
    assert [0.08, None] == [sdx.now.write_await, sdx.now.read_await]
    assert 3 == sdx.now.saturated_seconds == sdx.now.statuses.count(1 | 16)
    assert 6 == view.now.window == len(sdx.now.written_column)
    assert "sdx is at its limit." == view.sentence
    its.tick()
    assert 0.0 == reader.read().now.transferred[-1]


class NoAgent:
    """SMART data that an agent should provide, and none runs."""

    def __init__(self, heartbeat: Heartbeat | None) -> None:
        self.heartbeat = heartbeat
        self.polls_itself = False
        self.drives = self.source = self

    def watched(self) -> list[WatchedDrive]:
        return []


def snapshots(
    its: Machine, health: Any = None, problem: str = "", root: Path = Path("/nonexistent")
) -> SnapshotReader:
    settings = Settings(path=Paths(rootfs=root))
    sources: Any = SimpleNamespace(
        settings=settings,
        sampler=its.sampler,
        survey=TopologySurvey(settings, its.clock, its.collector_status, lambda _drives: None),
        services=SimpleNamespace(rates={}),
        io_history=None,
        health=health,
        slow_places={},
        clock=its.clock,
        collector_status=its.collector_status,
    )
    return SnapshotReader(sources, lambda: problem)


def running(tmp_path: Path) -> Machine:
    its = Machine(tmp_path)
    its.disks(NEW)
    its.cpus(ALL_IDLE)
    its.waiting(0.0)
    for _ in range(25):
        its.tick()
    return its


def test_a_missing_agent_is_an_entry_of_the_list(tmp_path: Path) -> None:
    its = running(tmp_path)
    wall = its.clock.wall()
    for heartbeat in (None, Heartbeat(wall - 1000, 15.0)):
        view = snapshots(its, NoAgent(heartbeat)).read()
        (todo,) = view.todos
        assert "systemctl start ssd-smart-agent" in todo.action
        assert "No SMART data." in answer(site(view), "/").body.decode()
    alive = NoAgent(Heartbeat(wall - 10, 15.0))
    assert () == snapshots(its, alive).read().todos


def test_all_pages_show_the_same_begin_of_a_bottleneck(tmp_path: Path) -> None:
    """They are read at any time between two samples."""
    its = running(tmp_path)
    disk, texts = NEW, []
    reader = snapshots(its)
    its.clock.advance(0.5)
    for second in range(30):
        disk = grown(disk, **FULL)
        its.disks(disk).waiting(0.5 * second)
        for part in range(4):
            (drive,) = reader.read().drives
            texts += [todo.text.partition("Since ")[2] for todo in drive.todos]
            its.clock.advance(0.2 if part < 3 else 0.0)
        its.tick(0.4)
    assert 60 < len(texts)
    assert 1 == len(set(texts)), texts


def test_the_heading_names_the_system(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text('PRETTY_NAME="Debian <12>"')
    view = snapshots(running(tmp_path), root=tmp_path).read()
    assert "Debian <12>" == view.facts[0]
    assert "Debian &lt;12&gt; · Linux " in answer(site(view), "/").body.decode()


def test_a_sampler_that_stopped_is_the_first_entry(tmp_path: Path) -> None:
    (todo,) = snapshots(running(tmp_path), problem="no sample for 12 seconds").read().todos
    assert "No sample for 12 seconds." == todo.text
    assert todo.status.name == "CRITICAL"


def test_another_path_does_not_load_the_code_of_the_pages() -> None:
    pages = LivePages(None, lambda: "")  # type: ignore[arg-type]
    assert pages.respond(Request("GET", "/favicon.ico", "", {})) is None
    assert pages._site is None
