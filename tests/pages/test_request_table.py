"""The section of a drive page about the latency of single requests."""

from exporter.pages.drive_history import DriveHistory
from exporter.pages.drive_page import drive_page
from exporter.pages.request_table import request_section
from exporter.tails.latency_bins import bin_of
from exporter.tails.latency_watch import HourOfRequests
from tests.pages import examples

FAST, SLOW = bin_of(100_000), bin_of(40_000_000)


def test_the_tail_and_the_median_of_each_operation_are_shown() -> None:
    bins = {"flush": {SLOW: 1}, "read": {FAST: 99_500, SLOW: 500}}
    text = request_section(HourOfRequests(bins, 290.0, 58))
    assert "observed for 5 min in 58 windows" in text
    rows = text[text.index("<tbody>") :].split("</tr>")
    assert '<th scope="row">reads</th><td class="r">100,000</td>' in rows[0]
    assert ["102 µs", "106 µs", "41 ms", "42 ms"] == [
        cell.partition("</b>")[0] for cell in rows[0].split("<b>")[1:]
    ]
    assert "▁" not in rows[0].partition("<code>")[2][:4]
    assert "flushes" in rows[1]


def test_a_percentile_that_no_request_exceeds_is_unknown() -> None:
    text = request_section(HourOfRequests({"read": {FAST: 50}}, 5.0, 1))
    assert 2 == text.count("<b>–</b>")
    assert "observed for 5 s in 1 window<" in text


def test_no_request_differs_from_not_observed() -> None:
    text = request_section(HourOfRequests({}, 290.0, 58))
    assert "No request in these windows." in text
    assert "58 windows" in text
    assert "<table" not in text


def test_requests_that_are_missing_are_counted() -> None:
    text = request_section(HourOfRequests({"read": {FAST: 50}}, 5.0, 1, lost=2, unfinished=1))
    assert "1 request did not complete within two seconds" in text
    assert "2 requests could not be matched." in text


def test_the_page_of_a_drive_has_the_section_only_if_requests_are_measured() -> None:
    view = examples.one()
    drive = view.drives[0]
    without = drive_page(view, drive, DriveHistory(), "1")
    hour = HourOfRequests({"read": {FAST: 50}}, 5.0, 1)
    measured = drive_page(view, drive, DriveHistory(requests=hour), "1")
    assert "Latency of single requests" not in without
    assert "Latency of single requests" in measured
