"""Tests of `metrics.page`: the page is rendered on request and at most once per tick."""

import gzip
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.exposition import choose_encoder

from exporter.families.desc import Buckets, MetricDesc, Sample
from exporter.metrics.page import PageCache
from exporter.runtime.collector_status import CollectorStatus
from exporter.runtime.errors import BugError
from tests.fakes import FakeClock
from tests.metrics.accept_encodings import ACCEPT_ENCODINGS

TICK = MetricDesc("ssd_test_ticks_total", "Ticks.", (), "counter")
HEAT = MetricDesc("ssd_test_celsius", "Temperature.", ("device",))
WAITS = MetricDesc("ssd_test_seconds", "Waits.", ("device",), "histogram", (1.0,))

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


#: The Accept header of Prometheus with native histograms enabled.
_PROMETHEUS_3 = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;"
    "q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;"
    "version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


class Source:
    """Returns samples and counts the requests for them."""

    def __init__(self) -> None:
        self.tick = 0
        self.asked = 0
        self.takes = 0.0
        self.pages = PageCache(self.samples, lambda: self.tick, CollectorStatus(FakeClock()))

    def samples(self) -> Iterator[Sample]:
        self.asked += 1
        time.sleep(self.takes)
        yield TICK(self.tick)

    def said(self, accept: str = "", encoding: str = "") -> int:
        page = self.pages.page(accept, encoding)
        body = gzip.decompress(page.body) if page.encoding else page.body
        (line,) = (line for line in body.decode().splitlines() if not line.startswith("#"))
        return int(line.split()[-1])


def test_the_page_is_rendered_only_on_request() -> None:
    source = Source()
    for tick in range(100):
        source.tick = tick
    assert 0 == source.asked


def test_the_page_is_rendered_once_per_tick() -> None:
    source = Source()
    for tick in range(3):
        source.tick = tick
        assert [tick] * 4 == [source.said(), source.said(), source.said("", "gzip"), source.said()]
        assert tick + 1 == source.asked


def test_each_format_is_rendered_once_and_compressed_from_the_plain_body() -> None:
    source = Source()
    for accept in ("", "application/openmetrics-text"):
        for encoding in ("", "gzip", ""):
            source.said(accept, encoding)
    assert 2 == source.asked


def test_concurrent_requests_wait_for_one_rendering() -> None:
    source = Source()
    source.takes = 0.2
    with ThreadPoolExecutor(16) as pool:
        assert {0} == set(pool.map(lambda _: source.said(), range(16)))
    assert 1 == source.asked


def test_concurrent_requests_get_complete_pages_in_order() -> None:
    source = Source()
    done = threading.Event()

    def ask(number: int) -> bool:
        accept = "application/openmetrics-text" if number % 2 else ""
        seen = [source.said(accept, "gzip")]
        while not done.is_set():
            seen.append(source.said(accept, "gzip"))
        return seen == sorted(seen)

    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(ask, number) for number in range(6)]
        for tick in range(100):
            source.tick = tick
            time.sleep(0.002)
        done.set()
        assert all(future.result() for future in asked)
    assert source.asked <= 200


def test_a_failed_rendering_is_retried() -> None:
    failing = [True]

    def samples() -> Iterator[Sample]:
        if failing[0]:
            raise RuntimeError("a mistake of ours")
        yield TICK(1)

    pages = PageCache(samples, lambda: 1, CollectorStatus(FakeClock()))
    with pytest.raises(BugError):
        pages.page("", "")
    failing[0] = False
    assert b"ssd_test_ticks_total 1\n" in pages.page("", "").body


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", TEXT),
        ("*/*", TEXT),
        ("text/plain", TEXT),
        ("text/html,application/xhtml+xml,*/*;q=0.8", TEXT),
        ("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", TEXT),
        ("text/plain;version=1.0.0;escaping=allow-utf-8", TEXT),
        ("application/openmetrics-text", OPENMETRICS),
        ("Application/OpenMetrics-Text; version=1.0.0; charset=utf-8", OPENMETRICS),
        ("application/openmetrics-text; version=0.0.1", TEXT),
        ("application/openmetrics-text;version=2.0.0", TEXT),
        ("application/openmetrics-text;version=2.0.0,application/openmetrics-text", OPENMETRICS),
        ("application/openmetrics-text;q=0.1,text/plain;q=0.9", TEXT),
        ("application/openmetrics-text;q=0", TEXT),
        ("application/openmetrics-text;version=x", TEXT),
        ("application/openmetrics-text;q=x", TEXT),
        (_PROMETHEUS_3, OPENMETRICS),
        ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5", OPENMETRICS),
    ],
)
def test_the_client_gets_its_preferred_format(accept: str, expected: str) -> None:
    page = Source().pages.page(accept, "")
    assert expected == page.content_type
    assert page.body.endswith(b"# EOF\n") == (expected == OPENMETRICS)


@pytest.mark.parametrize(
    "accept",
    [
        "",
        "*/*",
        "text/plain;version=0.0.4",
        "application/openmetrics-text",
        "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
    ],
)
def test_prometheus_client_would_choose_the_same(accept: str) -> None:
    """It raises for a version that is not a number, so such headers are excluded."""
    expected = choose_encoder(accept)[1].split("; escaping")[0]
    assert expected == Source().pages.page(accept, "").content_type


@pytest.mark.parametrize(("accept_encoding", "expected"), ACCEPT_ENCODINGS)
def test_a_page_is_compressed_if_the_client_accepts_gzip(
    accept_encoding: str, expected: str
) -> None:
    source = Source()
    page = source.pages.page("", accept_encoding)
    assert expected == page.encoding
    assert 0 == source.said("", accept_encoding)


_WORDS = ("application/openmetrics-text", "text/plain", "version=", "q=", ";", ",", "=", "1", "x")
_HEADERS = st.text() | st.lists(st.sampled_from(_WORDS)).map("".join)


@given(_HEADERS, _HEADERS)
def test_no_header_breaks_the_page(accept: str, accept_encoding: str) -> None:
    page = Source().pages.page(accept, accept_encoding)
    assert page.content_type in (TEXT, OPENMETRICS)


@pytest.mark.parametrize(
    "wrong",
    [
        HEAT(None, "sda"),  # type: ignore[arg-type]
        HEAT("hot", "sda"),  # type: ignore[arg-type]
        HEAT(7.0, None),  # type: ignore[arg-type]
        Sample(HEAT, ["sda"], 7.0),  # type: ignore[arg-type]
        Sample(HEAT, ("sda", "sdb"), 7.0),
        WAITS(Buckets((1.0, 2.0, 3.0), 1.0), "sda"),
        WAITS(7.0, "sda"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text"])
def test_a_value_that_cannot_be_rendered_costs_only_its_family(
    wrong: Sample, accept: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise one wrong value of one collector would make /metrics a 500 at every scrape."""
    status = CollectorStatus(FakeClock())
    ticks = iter(range(9))
    pages = PageCache(lambda: [TICK(1), wrong, TICK(2)], lambda: next(ticks), status)
    for _ in range(3):
        body = pages.page(accept, "").body.decode()
        assert "ssd_test_ticks_total 2\n" in body
        assert wrong.desc.name not in body
    assert {"bug": 3} == dict(status.results())["page"].errors
    (record,) = caplog.records
    assert wrong.desc.name in record.message
    assert record.exc_info is not None, "the traceback is logged once"
