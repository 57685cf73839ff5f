"""The section of a drive page about its log pages."""

import pytest

from exporter.drives.nvme_logs.drive_latency import DriveLatency, LatencyBucket, SlowCommands
from exporter.drives.nvme_logs.log_document import ParsedLogs
from exporter.drives.nvme_logs.log_values import NvmeLogValues
from exporter.pages.log_page_table import latency_sentence, log_section
from exporter.pages.page_texts import clock

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
