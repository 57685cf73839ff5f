"""The section of a drive page about its log pages."""

import pytest

from exporter.drives.nvme_logs.drive_latency import DriveLatency, LatencyBucket, SlowCommands
from exporter.drives.nvme_logs.log_document import ParsedLogs
from exporter.drives.nvme_logs.log_values import NvmeLogValues
from exporter.drives.nvme_logs.slow_place import SlowPlace, SlowPlaces, SlowRequests
from exporter.pages.log_page_table import latency_sentence, log_section, slow_sentence
from exporter.pages.page_texts import clock, escaped

AT = 1_700_000_000.0
NONE = SlowCommands(0)


def monitor(read: SlowCommands = NONE, write: SlowCommands = NONE) -> DriveLatency:
    bucket = LatencyBucket(0.005, None, read, write, NONE)
    return DriveLatency(True, True, (bucket,), active_seconds=1800.0)


def test_a_drive_without_log_pages_has_no_section() -> None:
    assert "" == log_section(None, AT)
    assert "" == log_section(ParsedLogs(), AT)


def test_values_have_their_metric_and_meaning() -> None:
    text = log_section(ParsedLogs(NvmeLogValues(capacitor_health_percent=120), at=AT - 600), AT)
    assert "Inside the drive" in text
    assert "<code>ssd_smart_capacitor_health_ratio</code>" in text
    assert "<b>120</b>" in text
    assert "read 10 min ago" in text


def test_a_drive_that_has_only_counted_no_slow_request_has_a_section_without_a_table() -> None:
    text = log_section(ParsedLogs(latency=monitor()), AT)
    assert OUTSIDE in text
    assert "<table" not in text


def test_a_throttling_drive_is_marked() -> None:
    text = log_section(ParsedLogs(NvmeLogValues(thermal_throttling_level=2)), AT)
    assert "Throttles now" in text
    assert 'class="r warn"' in text


def test_a_missing_page_has_its_reason() -> None:
    text = log_section(ParsedLogs(missing={0xC0: "refused: NVMe status <0x109>"}), AT)
    assert "Log page C0h" in text
    assert "refused: NVMe status &lt;0x109&gt;." in text


SINCE = "In the last 30 min"
SLOW = "took 5.0 ms or longer inside the drive"
OUTSIDE = (
    f"{SINCE} no request {SLOW}. Requests that were slower in this time waited outside of it: in a"
    " queue, the link or the host."
)


@pytest.mark.parametrize(
    ("latency", "expected"),
    [
        (DriveLatency(False), "The drive can measure its own latency, but its monitor is off."),
        (monitor(), OUTSIDE),
        (monitor(write=SlowCommands(2)), f"{SINCE} 2 requests {SLOW}."),
        (
            monitor(
                SlowCommands(1, 0.012, True, AT - 60, True), SlowCommands(3, 0.04, True, 9.0, False)
            ),
            f"{SINCE} 4 requests {SLOW}, the slowest 40 ms.",
        ),
        (
            monitor(SlowCommands(1, 0.012, True, AT - 60, True)),
            f"{SINCE} 1 request {SLOW}, the slowest 12 ms at {clock(AT - 60)}.",
        ),
    ],
)
def test_the_sentence_says_whether_slow_requests_were_slow_inside_the_drive(
    latency: DriveLatency, expected: str
) -> None:
    assert expected == latency_sentence(latency, AT)


SLOW_PLACES = SlowPlaces(
    AT - 900,
    AT,
    0.03,
    (
        SlowRequests("read", SlowPlace.OUTSIDE, 0, 0.09),
        SlowRequests("write", SlowPlace.INSIDE, 7, 0.04),
    ),
)


def test_slow_requests_outside_of_the_drive_are_explained_apart_from_those_inside() -> None:
    period = f"From {clock(AT - 900)} to {clock(AT)}"
    assert (
        f"{period} reads took up to 90 ms (mean of a second), and none took 30 ms or longer inside"
        " the drive: most of this time passed outside of it, in a queue, the link or the host."
        f" {period} 7 writes took 30 ms or longer inside the drive."
    ) == slow_sentence(SLOW_PLACES)


def test_the_section_says_where_slow_requests_spent_their_time() -> None:
    logs = ParsedLogs(latency=monitor())
    assert escaped(slow_sentence(SLOW_PLACES)) in log_section(logs, AT, SLOW_PLACES)
    assert "From " not in log_section(logs, AT)
