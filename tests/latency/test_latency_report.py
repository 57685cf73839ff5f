"""What the command `latency` shows."""

import io
import json
from pathlib import Path

import pytest

from exporter.cli import main
from exporter.commands.request_latency.latency_screen import bars, screen
from exporter.latency.latency_report import report
from exporter.latency.request_summary import summaries
from exporter.latency.request_window import RequestMeasurement
from exporter.report import delivery
from exporter.tails.request_histogram import RequestHistogram, percentile
from exporter.top.spans import as_text
from tests.latency.test_populations import counted

MS = 1e-3
NAMES = {"259:0": "nvme0n1", "8:0": "sda"}


def delayed(count: int = 20_000) -> RequestHistogram:
    """Reads of 0.2 ms, of which one in 500 takes 40 ms."""
    return counted([0.2 * MS if n % 500 else 40 * MS for n in range(count)])


def shown(measured: RequestMeasurement) -> str:
    out = io.StringIO()
    made = report(measured, summaries(measured, NAMES), 10, ("A note.",), ("nvme0n1",))
    delivery.deliver(made, out, as_json=False, html=None)
    return out.getvalue()


def sentences(measured: RequestMeasurement) -> list[str]:
    return [device.sentence() for device in summaries(measured, NAMES)]


def test_delayed_requests_are_named_with_their_share_and_place() -> None:
    key = "259:0", "read"
    measured = RequestMeasurement(in_device={key: delayed()}, intervals=[{key: delayed(500)}] * 40)
    (sentence,) = sentences(measured)
    assert sentence == (
        "nvme0n1: two populations of reads: 0.2 % take about 40.4 ms, the others 199 µs, spread"
        " evenly; the time passes in the device."
    )


def test_requests_that_wait_in_the_queue_are_told_apart() -> None:
    key = "259:0", "read"
    queue = counted([40 * MS] * 100)
    measured = RequestMeasurement(in_device={key: delayed()}, in_queue={key: queue})
    assert sentences(measured)[0].endswith("; more requests (100) waited as long in the queue.")


def test_one_population_is_not_called_two_and_few_requests_tell_nothing() -> None:
    one = RequestMeasurement(in_device={("8:0", "write"): counted([1 * MS] * 500)})
    assert ["sda: no separate population of slow requests."] == sentences(one)
    few = RequestMeasurement(in_device={("8:0", "write"): counted([1 * MS] * 99)})
    assert ["sda: too few requests to tell (99)."] == sentences(few)


def test_requests_that_the_driver_gave_back_are_not_silent() -> None:
    """scsi_debug, Linux 6.1: a command that timed out after 3 s is issued again and takes 2 ms."""
    measured = RequestMeasurement(
        in_device={("8:0", "read"): counted([2 * MS] * 500)},
        requeued={("8:0", "read"): counted([3.1])},
    )
    (sentence,) = sentences(measured)
    assert sentence == (
        "sda: the driver gave back 1 request, the slowest after 3.22 s, and this time is not in"
        " the percentiles."
    )


def test_a_percentile_that_no_request_exceeds_is_unknown() -> None:
    for count, known in ((99, [True, False, False]), (1000, [True, True, True])):
        made = counted([1 * MS] * count)
        assert known == [percentile(made, share) is not None for share in (0.5, 0.99, 0.999)]


def test_the_report_has_a_table_a_chart_and_what_was_lost() -> None:
    measured = RequestMeasurement(
        in_device={("259:0", "read"): delayed()},
        in_queue={("259:0", "read"): counted([1 * MS] * 10)},
        issued={"259:0": 20_003},
        lost={"259:0": 3},
        observed_seconds=9.5,
        rounds=2,
    )
    text = shown(measured)
    for words in (
        "nvme0n1  reads        20,000  199 µs  200 µs  201 µs  40.4 ms  40.9 ms",
        "In the queue",
        "nvme0n1: latencies of the requests",
        "observed  9.5 of 10 s",
        "nvme0n1: 3 of 20,003 requests were lost",
        "The measurement has 2 rounds",
        "- A note.",
        "nvme0n1: a volume of a hypervisor",
    ):
        assert words in text, text


def test_without_requests_the_report_says_so() -> None:
    assert "No request was issued." in shown(RequestMeasurement())


def test_json_has_the_histograms_in_seconds() -> None:
    measured = RequestMeasurement(in_device={("259:0", "read"): delayed()})
    out = io.StringIO()
    made = report(measured, summaries(measured, NAMES), 10)
    delivery.deliver(made, out, as_json=True, html=None)
    device = json.loads(out.getvalue())["data"]["devices"]["nvme0n1"]
    reads = device["operations"]["read"]
    assert 20_000 == sum(count for *_, count in reads["device"]["buckets"])
    assert 0.002 == reads["populations"]["slow_share"]
    assert 0.04 <= reads["device"]["p99_9_seconds"] <= 0.042
    assert reads["queue"]["p50_seconds"] is None


def test_the_live_screen_has_a_histogram_per_operation() -> None:
    measured = RequestMeasurement(in_device={("259:0", "read"): delayed()}, observed_seconds=2.0)
    lines = as_text(screen(summaries(measured, NAMES), 2.0, 0.2, 24), 120)
    assert lines[0] == "ssd-exporter latency  20 %, 2.0 s observed; q ends it"
    assert lines[3].endswith("   201 µs  40.4 ms  40.9 ms   199 µs     20,000")
    assert "40.9 ms" in lines[3][:79]
    assert "█" in lines[3]
    assert 28 == len(bars(delayed()))
    # 40 requests of 40 ms among 20,000 are visible.
    assert "▄" in bars(delayed()).partition("█")[2]


def test_the_command_without_tracefs_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 2 == main(["latency", f"--path.sysfs={tmp_path}"])
    said = capsys.readouterr()
    assert "" == said.out
    assert 1 == said.err.count("\n")
    assert 2 == main(["latency", "--seconds=0", f"--path.sysfs={tmp_path}"])
    assert "--seconds is 0; use 1 to 3600" in capsys.readouterr().err
